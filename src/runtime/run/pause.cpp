// Between one run() and the next no goroutine is scheduled: machines stop where they next enter the
// runtime. No goroutine is interrupted, because it may hold malloc's lock and the process may want
// to exit. For the same reason a goroutine that a signal has stopped in the middle of user code
// goes on, without a processor, until it enters the runtime.
#include "runtime/run/pause.hpp"

#include "runtime/queue/hand_off.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

void pause() noexcept {
  sched.gate.pause();
  raise_stop();
  release_interrupted();
}

// Work that was queued meanwhile has woken no machine.
void resume() noexcept { settle(sched.gate.resume()); }

}  // namespace sley::rt
