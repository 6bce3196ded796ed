
#include "runtime/state/records.hpp"

#include "parts/permanent_memory.hpp"
#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/placement.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/sched_state.hpp"

#include <new>
#include <utility>

namespace sley::rt {

namespace {

parts::permanent_memory memory;
detail::lock machines_lock{detail::lock_rank::machines};
machine* unused_machines = nullptr;  // [lock: machines_lock]

// Adds new records to `records`. False if there is no memory. Without sched.lock, because a first
// touch of memory takes long.
bool make_slab(goroutine_list& records) noexcept {
  void* place = memory.allocate(sizeof(slab));
  if (place == nullptr) return false;
  auto* made = ::new (place) slab;
  for (goroutine& g : made->records) records.push_back(&g);
  detail::lock_guard guard(sched.lock);
  slabs.add(made);
  return true;
}

goroutine* take_shared_record() noexcept {
  {
    detail::lock_guard guard(sched.lock);
    goroutine_list batch = sched.dead.pop();
    goroutine* g = batch.pop_front();
    sched.dead.push(std::move(batch));
    if (g != nullptr) return g;
  }
  goroutine_list made;
  if (!make_slab(made)) return nullptr;
  goroutine* g = made.pop_front();
  detail::lock_guard guard(sched.lock);
  sched.dead.push(std::move(made));
  return g;
}

static_assert(slab_records <= dead_cache, "a processor keeps all that it makes at once");

// Fills the processor's list half with shared records, or whole with new ones.
void refill(processor* p) noexcept {
  {
    detail::lock_guard guard(sched.lock);
    while (p->dead.size() < dead_cache / 2 && !sched.dead.is_empty()) {
      p->dead.append(sched.dead.pop());
    }
  }
  if (p->dead.is_empty()) make_slab(p->dead);
}

// Where the processor has none, or the caller has no processor.
[[gnu::noinline]] goroutine* take_another_record(processor* p) noexcept {
  if (p == nullptr) return take_shared_record();
  refill(p);
  return p->dead.pop_front();
}

// The processor keeps the half that it was given last, which is in its caches.
[[gnu::noinline]] void spill(processor* p) noexcept {
  goroutine_list kept;
  while (kept.size() < dead_cache / 2) kept.push_back(p->dead.pop_front());
  detail::lock_guard guard(sched.lock);
  sched.dead.push(std::exchange(p->dead, kept));
}

[[gnu::noinline]] void give_shared_record(goroutine* g) noexcept {
  goroutine_list batch;
  batch.push_back(g);
  detail::lock_guard guard(sched.lock);
  sched.dead.push(std::move(batch));
}

}  // namespace

goroutine* take_record(machine* m) noexcept {
  const platform::unseen unseen;
  processor* p = m->p;
  goroutine* g = p == nullptr ? nullptr : p->dead.pop_front();
  if (g == nullptr) g = take_another_record(p);
  if (g == nullptr) return nullptr;
  forget_former_user(*g);
  g->reader_slot = nullptr;
  if (g->status.get() == parts::status::dead) {
    g->status.transition(parts::status::dead, parts::status::idle);
  }
  return g;
}

void give_record(machine* m, goroutine* g) noexcept {
  const platform::unseen unseen;
  processor* p = m->p;
  if (p == nullptr) return give_shared_record(g);
  p->dead.push_front(g);
  if (p->dead.size() > dead_cache) spill(p);
}

std::uint64_t next_goroutine_id(machine* m) noexcept {
  const platform::unseen unseen;
  processor* p = m->p;
  if (p == nullptr) return sched.next_goroutine_id.add_relaxed(1);
  if (p->next_id == p->last_id) {
    p->next_id = sched.next_goroutine_id.add_relaxed(id_batch);
    p->last_id = p->next_id + id_batch;
  }
  return p->next_id++;
}

machine* new_machine() noexcept {
  detail::lock_guard guard(machines_lock);
  if (machine* m = unused_machines; m != nullptr) {
    unused_machines = m->next_idle;
    m->ends = m->is_foreign = m->is_searching = m->is_interrupted = m->has_left_call = false;
    m->locks = m->user_locks = m->nested_calls = 0;
    m->g = nullptr;
    m->last_p = nullptr;
    m->border.lower(~std::uint32_t{parts::border::closed});
    return m;
  }
  void* place = memory.allocate(sizeof(machine));
  if (place == nullptr) return nullptr;
  auto* m = ::new (place) machine;
  const machine* before = sched.machines.newest();
  m->id = before == nullptr ? 0 : before->id + 1;
  m->random = base::random(platform::seed() + max_processors + m->id);
  sched.machines.add(m);
  return m;
}

void raise_stop() noexcept {
  for (machine* m : sched.machines) {
    m->border.raise(parts::border::stop);
  }
}

void attach_thread(machine* m) noexcept {
  detail::lock_guard guard(m->border.guard());
  m->thread_id.store_relaxed(platform::current_thread_id());
  m->place = platform::place_of_this_thread();
}

void detach_thread(machine* m) noexcept {
  detail::lock_guard guard(m->border.guard());
  m->thread_id.store_relaxed(0);
  m->place = nullptr;
}

void give_machine(machine* m) noexcept {
  detail::lock_guard guard(machines_lock);
  m->next_idle = unused_machines;
  unused_machines = m;
}

void* allocate_permanently(std::size_t bytes) noexcept { return memory.allocate(bytes); }

}  // namespace sley::rt
