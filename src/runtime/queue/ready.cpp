// Queues goroutines that are runnable. From Go's runqput, goready and the end of newproc.
#include "runtime/queue/ready.hpp"

#include "platform/decisions.hpp"
#include "platform/probes.hpp"
#include "platform/sanitizer.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"

#include <utility>

namespace sley::rt {

namespace {

// The local queue is full: moves its older half and g to the global queue in one batch.
bool spill(processor* p, goroutine* g) noexcept {
  goroutine* older[decltype(p->queue)::half];
  const std::uint32_t n = p->queue.take_half(older);
  if (n == 0) return false;
  goroutine_list batch;
  for (std::uint32_t i = 0; i < n; ++i) batch.push_back(older[i]);
  batch.push_back(g);
  sched.queue.append(std::move(batch));
  return true;
}

// Queues a runnable goroutine so that it runs next on this machine's processor.
[[gnu::always_inline]] inline void run_next(machine* m, goroutine* g) noexcept {
  processor* p = m->p;
  if (__builtin_expect(p == nullptr, 0) || !platform::stays_here()) {
    run_last(g);
  } else if (goroutine* displaced = p->next.put(g)) {
    run_after_those_here(p, displaced);
  }
}

}  // namespace

void run_after_those_here(processor* p, goroutine* g) noexcept {
  while (!p->queue.push(g)) {  // ends: a failed spill means that a thief made room
    if (spill(p, g)) return;
  }
}

void run_last(goroutine* g) noexcept {
  sched.queue.push_back(g);
  wake_if_needed();
}

namespace {

// Rare cases are functions of their own, which do all that is left: a call in the middle would have
// the others save registers for it.
[[gnu::noinline]] void start_noted(machine* m, goroutine* g) noexcept {
  look_at_spawn(m->p, g);
  run_next(m, g);
  wake_if_needed();
}

}  // namespace

void start(machine* m, goroutine* g) noexcept {
  platform::create_strand(g->strand);
  const platform::unseen unseen;
  g->noted_locks = {};
  g->status.transition(parts::status::idle, parts::status::runnable);
  platform::probe_spawn(g->id, g->created_by, g->created_at);
  if (processor* p = m->p; p == nullptr) {
    sched.spawned.add_relaxed(1);
  } else if (__builtin_expect(count(p->figures.spawned) >= p->meter.next_spawned, 0)) {
    return start_noted(m, g);
  }
  run_next(m, g);
  wake_if_needed();
}

namespace {

void wake_foreign(goroutine* g) noexcept {
  g->bound_to->waits.store_relaxed(false);
  g->bound_to->note.wake();
}

// It no longer waits. False: it must be queued, and that is all. What `needs` has was there when it
// parked, and a goroutine that stands for a foreign thread always has something.
[[gnu::always_inline]] inline bool make_runnable(goroutine* g) noexcept {
  platform::probe_ready(g->id);
  g->status.transition(parts::status::waiting, parts::status::runnable);
  return __builtin_expect(g->needs.load_relaxed() != 0, 0);
}

// Sees to what there is besides. True: a thread is woken, and the goroutine must not be queued.
bool is_woken_thread(goroutine* g) noexcept {
  if (g->is_foreign) {
    wake_foreign(g);
    return true;
  }
  if (is_timed(g)) begin_measured_wait(g);
  return false;
}

inline bool is_traced(const machine* m) noexcept {
  return m->p != nullptr && m->p->trace != nullptr;
}

[[gnu::noinline]] void ready_noted(machine* m, goroutine* g) noexcept {
  trace_ready(m->p, g);
  run_next(m, g);
  wake_if_needed();
}

[[gnu::noinline]] void ready_with_needs(goroutine* g) noexcept {
  if (is_woken_thread(g)) return;
  machine* m = current_machine();
  if (is_traced(m)) trace_ready(m->p, g);
  run_next(m, g);
  wake_if_needed();
}

}  // namespace

void ready(goroutine* g) noexcept {
  platform::passes_order(&g->strand);
  const platform::unseen unseen;
  if (make_runnable(g)) return ready_with_needs(g);
  machine* m = current_machine();
  if (__builtin_expect(is_traced(m), 0)) return ready_noted(m, g);
  run_next(m, g);
  wake_if_needed();
}

namespace {

// Wakes foreign threads, and returns the goroutines that must be queued.
goroutine_list make_all_runnable(goroutine_list&& woken) noexcept {
  const machine* m = current_machine();
  processor* traced = m != nullptr && is_traced(m) ? m->p : nullptr;
  goroutine_list batch;
  while (goroutine* g = woken.pop_front()) {
    if (make_runnable(g) && is_woken_thread(g)) continue;
    if (traced != nullptr) trace_ready(traced, g);
    batch.push_back(g);
  }
  return batch;
}

void queue_all(goroutine_list&& runnable) noexcept {
  if (runnable.is_empty()) return;
  if (machine* m = current_machine(); m != nullptr && m->p != nullptr) {
    while (goroutine* g = runnable.pop_front()) run_after_those_here(m->p, g);
  } else {
    sched.queue.append(std::move(runnable));
  }
  wake_if_needed();
}

}  // namespace

void ready_all(goroutine_list&& woken) noexcept {
  const platform::unseen unseen;
  queue_all(make_all_runnable(std::move(woken)));
}

goroutine* ready_all_to_run_first(goroutine_list&& woken) noexcept {
  goroutine_list runnable = make_all_runnable(std::move(woken));
  goroutine* first = runnable.pop_front();
  queue_all(std::move(runnable));
  return first;
}

void ready_from_outside(goroutine* g) noexcept {
  const platform::unseen unseen;
  if (!make_runnable(g) || !is_woken_thread(g)) run_last(g);
}

}  // namespace sley::rt
