// The loop of a machine, on its own stack. A goroutine that cannot switch directly to the next one
// comes back here. From Go's schedule and execute.
#include "runtime/run/schedule.hpp"

#include "platform/probes.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/switch.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/source/find_runnable.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

// Meets the goroutine's needs before it can run. False if it does not run on this machine now.
bool see_to(machine* m, goroutine* g) noexcept {
  wait_while_held(g);
  if (waits_on_its_thread(g)) {
    give_turn(m, g);
    return false;
  }
  if (is_timed(g)) end_measured_wait(m->p, g);
  return g->stack != nullptr || bind_stack(m, g);
}

[[gnu::always_inline]] inline void execute(machine* m, const pick& next) noexcept {
  goroutine* g = next.g;
  if (!next.inherits_slice) begin_slice(m->p);
  if (g->needs.load_acquire("TR-1") != 0 && !see_to(m, g)) return;
  g->status.transition(parts::status::runnable, parts::status::running);
  platform::probe_run(g->id);
  count_switch(m->p, nullptr, g, departure::none);
  switch_from_machine(m, g);
}

}  // namespace

void schedule(machine* m) noexcept {
  while (!m->ends) {
    // Its goroutine has handed the processor over, or has ended with its thread.
    if (m->p == nullptr) {
      if (!stop_m(m)) return;
      begin_slice(m->p);
    }
    const pick next = find_runnable(m);
    if (m->is_searching) {
      m->is_searching = false;
      if (sched.gate.found_work()) wake_p();  // WG-2
    }
    if (next.g != nullptr) execute(m, next);
  }
}

}  // namespace sley::rt
