// The slow paths of call_once.
#include <sley/once.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"

namespace sley {

bool once_flag::begin() {
  rt::enter();
  waiters_.guard().acquire();
  while (phase_.load_relaxed() == running) {  // ends: calls end; the lock orders the look
    waiters_.park(rt::wait::once_wait);
    waiters_.guard().acquire();
  }
  const bool is_ours = phase_.load_relaxed() == open;
  if (is_ours) phase_.store_relaxed(running);  // nothing is handed over before end()
  waiters_.guard().release();
  rt::leave();
  return is_ours;
}

// After a call that has failed all waiters look again, and one of them calls.
void once_flag::end(bool has_returned) noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  phase_.store_release(has_returned ? done : open, "ON-1");
  waiters_.wake_all_and_release();
  rt::leave(m);
}

}  // namespace sley
