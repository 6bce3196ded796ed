// The loop of a machine, on its own stack: find a goroutine, run it until it comes back here. From
// Go's schedule and execute.
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/switch.hpp"

namespace sley::rt {

namespace {

[[gnu::noinline]] void execute(machine* m, const pick& next) noexcept {
  goroutine* g = next.g;
  if (g->stack == nullptr && !bind_stack(m, g)) return;
  processor* p = m->p;
  if (!next.inherits_slice) {
    ++p->tick;
    p->inherited = 0;
  }
  g->status.transition(parts::status::runnable, parts::status::running);
  count(p->figures.switches);
  switch_from_machine(m, g);
}

}  // namespace

void schedule(machine* m) noexcept {
  for (;;) {
    const pick next = find_runnable(m);
    if (m->is_searching) {
      m->is_searching = false;
      if (sched.gate.found_work()) wake_p();  // WG-2
    }
    execute(m, next);
  }
}

}  // namespace sley::rt
