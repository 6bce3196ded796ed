// What futures wait for.
#include <sley/future.hpp>

#include "runtime/enter.hpp"
#include "runtime/wait_reason.hpp"

namespace sley::detail {

void one_shot::set() noexcept {
  rt::enter();
  waiters_.guard().acquire();
  set_.store_release(true, "FU-1");
  waiters_.wake_all_and_release();
  rt::leave();
}

void one_shot::wait() {
  if (is_set()) return;
  rt::enter();
  waiters_.guard().acquire();
  if (set_.load_relaxed()) {  // under the lock that set() holds
    waiters_.guard().release();
  } else {
    waiters_.park(rt::wait::future_wait);
  }
  rt::leave();
}

}  // namespace sley::detail
