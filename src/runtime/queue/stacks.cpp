// A goroutine gets its stack when it first runs, and gives it back when it ends.
//
//   SK-1  No wake-up is lost between giving a stack back and waiting for one, because both sides
//         take the same locks. A giver puts the stack where all find it, with the pool's lock, and
//         then reads stackless_count, in give_stack. A processor that goes idle does so with
//         sched.lock, and then reads it likewise. A waiter is counted first; then its machine
//         empties the caches of idle processors and looks for a stack, in wait_for_stack. While any
//         goroutine waits no processor keeps stacks that come free.
//   Test: tests/model/stackless_model.cpp.
#include "runtime/queue/stacks.hpp"

#include "base/print.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

// Null: there is none.
parts::stack* take_cached(processor* p) noexcept {
  parts::stack* s = p->stacks;
  if (s == nullptr) return nullptr;
  p->stacks = s->next;
  --p->stack_count;
  return s;
}

parts::stack* take_default(processor* p) noexcept {
  if (p->stacks == nullptr) {
    p->stacks = sched.stacks.take_batch(stack_cache / 2);
    p->stack_count = 0;
    for (parts::stack* s = p->stacks; s != nullptr; s = s->next) ++p->stack_count;
  }
  parts::stack* s = take_cached(p);
  return s != nullptr ? s : sched.stacks.take();
}

void bind(goroutine* g, parts::stack* s) noexcept {
  g->stack = s;
  g->needs.store_relaxed(0);
  g->context = platform::make_context(s->top, sched.goroutine_main);
  platform::forget_stack(s->low, s->usable_bytes());
  platform::begin_again(s->fiber, g->strand, s->low, s->usable_bytes());
}

void put_cached(processor* p, parts::stack* s) noexcept {
  s->next = p->stacks;
  p->stacks = s;
  if (++p->stack_count <= stack_cache) return;
  // The colder half goes where other processors find it.
  parts::stack* last = s;
  for (std::size_t i = 1; i < stack_cache / 2; ++i) last = last->next;
  sched.stacks.give_list(last->next);
  last->next = nullptr;
  p->stack_count = stack_cache / 2;
}

// Moves the free stacks of idle processors to the pool.
void collect_idle_stacks() noexcept {
  detail::lock_guard guard(sched.lock);
  for (processor* p = sched.idle_processors; p != nullptr; p = p->next_idle) flush_stacks(p);
}

// If a stack is free, one goroutine that waits for a stack is runnable again.
void serve_stackless() noexcept {
  if (!sched.stacks.has_free()) return;
  sched.lock.acquire();
  goroutine* g = sched.stackless.pop_front();
  if (g != nullptr) sched.stackless_count.sub_relaxed(1);
  sched.lock.release();
  if (g != nullptr) run_last(g);
}

// There is no memory for a stack: g waits until one comes free; others go on. From now on stacks
// that come free are not kept by processors.
void wait_for_stack(goroutine* g) noexcept {
  static detail::atomic<bool> reported;
  const std::uint64_t made = sched.stacks.made();
  bool expected = false;
  if (made == 0 || reported.cas_relaxed(expected, true)) {
    base::line_writer line;
    line.text("sley: no memory for another goroutine's stack: ").dec(made).text(" stacks, ");
    line.dec(sched.stacks.reserved_bytes() >> 20).text(" MiB of address space; the limit may be ");
    line.text("vm.max_map_count, RLIMIT_AS or vm.overcommit_memory; see SLEY_STACK_SIZE");
    if (made == 0) base::fatal(line.view());
    line.text("\n").flush(2);
  }
  {
    detail::lock_guard guard(sched.lock);
    sched.stackless.push_back(g);
    sched.stackless_count.add_relaxed(1);
  }
  collect_idle_stacks();
  serve_stackless();  // SK-1: a stack may have come free before g was counted
}

}  // namespace

void help_stackless() noexcept {
  collect_idle_stacks();
  serve_stackless();
}

void flush_stacks(processor* p) noexcept {
  sched.stacks.give_list(p->stacks);
  p->stacks = nullptr;
  p->stack_count = 0;
}

namespace {

void report_bare_stack() noexcept {
  static detail::atomic<bool> reported;  // relaxed: one thread reports
  bool expected = false;
  if (reported.load_relaxed() || !reported.cas_relaxed(expected, true)) return;
  base::line_writer line;
  line.text("sley: no guard for another goroutine's stack, nor for any further one after ");
  line.dec(sched.stacks.made())
      .text(" stacks: an overflow there is not noticed; the limit may be ");
  line.text("vm.max_map_count, which Linux 6.13 and later do not need\n").flush(2);
}

}  // namespace

bool bind_stack(machine* m, goroutine* g) noexcept {
  const std::size_t bytes = g->own_stack_bytes();
  parts::stack* s = bytes == 0 ? take_default(m->p) : sched.stacks.take_sized(bytes);
  if (s == nullptr && g->id == main_goroutine_id) {
    // It asked for no more than a default stack: the rest is what main() would have had.
    g->extra.load_relaxed()->stack_bytes = 0;
    s = take_default(m->p);
  }
  if (s == nullptr) {
    wait_for_stack(g);
    return false;
  }
  if (s->guard == platform::guard::none) report_bare_stack();
  bind(g, s);
  return true;
}

bool bind_cached_stack(machine* m, goroutine* g) noexcept {
  parts::stack* s = g->own_stack_bytes() == 0 ? take_cached(m->p) : nullptr;
  if (s == nullptr) return false;
  bind(g, s);
  return true;
}

bool keep_stack(machine* m, parts::stack* s) noexcept {
  if (s->map_bytes != 0 || sched.stackless_count.load_relaxed() != 0) return false;  // SK-1
  put_cached(m->p, s);
  return true;
}

void give_stack(parts::stack* s) noexcept {
  sched.stacks.give(s);
  if (sched.stackless_count.load_relaxed() != 0) serve_stackless();  // SK-1
}

}  // namespace sley::rt
