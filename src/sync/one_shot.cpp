// What futures wait for.
#include <sley/detail/future_state.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_with_context.hpp"

namespace sley::detail {

void one_shot::set() noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  phase_.store_release(has_come, "FU-1");
  waiters_.wake_all_and_release();
  rt::leave(m);
}

void one_shot::wait() {
  if (is_set()) return;
  rt::enter();
  waiters_.guard().acquire();
  if (phase_.load_relaxed() == has_come) {  // under the lock that set() holds
    waiters_.guard().release();
  } else {
    waiters_.park(rt::wait::future_wait, this);
  }
  rt::leave();
}

void one_shot::wait(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error || is_set()) return;
  sync::wait_with(ctx, error, [this](wait_limit limit) { return wait_until(limit); });
}

bool one_shot::wait_until(wait_limit limit) {
  rt::enter();
  bool is_in_time = true;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    if (phase_.load_relaxed() == has_come) {  // as above
      waiters_.guard().release();
    } else {
      is_in_time = self.park(waiters_, rt::wait::future_wait, this);
    }
  }
  rt::leave();
  return is_in_time;
}

}  // namespace sley::detail
