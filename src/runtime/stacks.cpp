// A goroutine gets its stack when it first runs, and gives it back when it ends.
#include "base/print.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

namespace {

parts::stack* take_cached(processor* p) noexcept {
  if (p->stacks == nullptr) {
    p->stacks = sched.stacks.take_batch(stack_cache / 2);
    p->stack_count = 0;
    for (parts::stack* s = p->stacks; s != nullptr; s = s->next) ++p->stack_count;
    if (p->stacks == nullptr) return sched.stacks.take();
  }
  parts::stack* s = p->stacks;
  p->stacks = s->next;
  --p->stack_count;
  return s;
}

void put_cached(processor* p, parts::stack* s) noexcept {
  s->next = p->stacks;
  p->stacks = s;
  if (++p->stack_count <= stack_cache) return;
  // The colder half goes where others find it.
  parts::stack* last = s;
  for (std::size_t i = 1; i < stack_cache / 2; ++i) last = last->next;
  sched.stacks.give_list(last->next);
  last->next = nullptr;
  p->stack_count = stack_cache / 2;
}

// There is no memory for a stack: g waits until one comes free; others go on.
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
  detail::lock_guard guard(sched.lock);
  sched.stackless.push_back(g);
  sched.stackless_count.add_relaxed(1);
}

// A stack came free: one of those that wait for it is runnable again.
void serve_stackless() noexcept {
  sched.lock.acquire();
  goroutine* g = sched.stackless.pop_front();
  if (g != nullptr) sched.stackless_count.add_relaxed(static_cast<std::uint32_t>(-1));
  sched.lock.release();
  if (g != nullptr) run_last(g);
}

}  // namespace

bool bind_stack(machine* m, goroutine* g) noexcept {
  const std::size_t bytes = g->extra != nullptr ? g->extra->stack_bytes : 0;
  parts::stack* s = bytes == 0 ? take_cached(m->p) : sched.stacks.take_sized(bytes);
  if (s == nullptr) {
    wait_for_stack(g);
    return false;
  }
  g->stack = s;
  g->context = platform::make_context(s->top, &goroutine_main);
  platform::reset_stack_memory(s->low, s->usable_bytes());
  return true;
}

void give_stack(machine* m, parts::stack* s) noexcept {
  if (s->map_bytes == 0) {
    put_cached(m->p, s);
  } else {
    sched.stacks.give(s);
  }
  if (__builtin_expect(sched.stackless_count.load_relaxed() != 0, 0)) serve_stackless();
}

}  // namespace sley::rt
