#include "runtime/enter.hpp"

#include "runtime/sched_state.hpp"

namespace sley::rt {

// The rare business at the entrance: the runtime is paused between two run()s. Somebody from outside
// makes it go on; a goroutine that was computing meanwhile stops. Its machine's flag stays up then,
// so that the machine does not take the fast way to the next goroutine; find_runnable lowers it.
machine* attend(machine* m) noexcept {
  if (m->is_foreign) {
    m->attention.exchange_acq_rel(false, "AT-1");
    if (sched.gate.is_paused()) resume();
    return m;
  }
  if (sched.gate.is_paused()) {
    yield();
    return current_machine();
  }
  m->attention.exchange_acq_rel(false, "AT-1");
  return m;
}

}  // namespace sley::rt
