// The slow paths of mutex.
//
// While the list's lock is held, `contended` is set exactly if somebody is in the list. So an
// unlock that saw it finds a waiter, whose need keeps the mutex alive until it is woken.
#include <sley/mutex.hpp>

#include "base/check.hpp"
#include "runtime/enter.hpp"
#include "runtime/wait_reason.hpp"

namespace sley {

void mutex::lock_slow() {
  rt::enter();
  for (bool was_woken = false;; was_woken = true) {  // ends when a cas takes the lock
    waiters_.guard().acquire();
    if (take_or_mark()) break;
    waiters_.park(rt::wait::mutex_lock, was_woken);
  }
  waiters_.guard().release();
  rt::leave();
}

// Requires the list's lock. True if the mutex is ours, else it is marked contended.
bool mutex::take_or_mark() noexcept {
  std::uint32_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {  // ends: each failure means that somebody locked or unlocked
    if ((seen & locked) == 0) {
      if (state_.cas_acquire(seen, seen | locked, "MX-1")) return true;
    } else if (state_.cas_acquire(seen, seen | contended, "MX-1")) {
      return false;
    }
  }
}

void mutex::unlock_slow() noexcept {
  if ((state_.load_relaxed() & locked) == 0) base::fatal("sley: unlock of unlocked mutex");
  rt::enter();
  waiters_.guard().acquire();
  const bool more = waiters_.has_more_than_one();
  state_.exchange_release(more ? contended : 0, "MX-1");
  waiters_.wake_one_and_release();
  rt::leave();
}

}  // namespace sley
