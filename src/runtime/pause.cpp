// Between one run() and the next nothing is scheduled: machines stop where they next enter the
// runtime. Nobody is interrupted, for who computes may hold malloc's lock, and the process may want
// to exit.
// A goroutine that was stopped in the middle of user code, by a signal, goes on for the same
// reason, without a processor, until it enters the runtime.
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

void pause() noexcept {
  sched.gate.pause();
  for (machine* m : sched.machines) {
    m->border.raise(parts::border::stop);
  }
  release_interrupted();
}

// Work that was queued meanwhile woke nobody. One searcher is enough: each that finds work wakes
// the next, and one that finds nothing waits for the timers.
void resume() noexcept {
  sched.gate.resume();
  wake_p();
}

}  // namespace sley::rt
