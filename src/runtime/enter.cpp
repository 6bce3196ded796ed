#include "runtime/enter.hpp"

#include "runtime/sched_state.hpp"

namespace sley::rt {

namespace {

// The rare business at the entrance: the runtime is paused between two run()s. Somebody from
// outside makes it go on; a goroutine that was computing meanwhile stops, with its machine's flag
// up again, so that the machine does not take the fast way to the next goroutine. The flag is
// lowered before the gate is looked at: a pause() that comes between the two raises it once more.
machine* attend(machine* m) noexcept {
  m->attention.exchange_acq_rel(false, "AT-1");
  if (!sched.gate.is_paused()) return m;
  if (m->is_foreign) {
    resume();
    return m;
  }
  m->attention.exchange_acq_rel(true, "AT-1");
  yield();
  return current_machine();
}

}  // namespace

machine* enter_slow() noexcept {
  machine* m = current_machine();
  if (m == nullptr) m = adopt_foreign_thread();
  m->in_runtime.store_relaxed(1);
  return m->attention.load_relaxed() ? attend(m) : m;
}

}  // namespace sley::rt
