// The slow paths of call_once.
#include <sley/once.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_with_context.hpp"

namespace sley {

bool once_flag::begin() {
  rt::enter();
  waiters_.guard().acquire();
  while (phase_.load_relaxed() == running) {  // ends: calls end; the lock orders the look
    waiters_.park(rt::wait::once_wait, this);
    waiters_.guard().acquire();
  }
  const bool is_ours = phase_.load_relaxed() == open;
  if (is_ours) phase_.store_relaxed(running);  // nothing is handed over before end()
  waiters_.guard().release();
  rt::leave();
  return is_ours;
}

bool once_flag::begin(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  bool is_ours = false;
  if (error || is_done()) return false;
  sync::wait_with(ctx, error,
                  [&](detail::wait_limit limit) { return begin_within(limit, is_ours); });
  return is_ours;
}
bool once_flag::begin(const context& ctx) {
  bool is_ours = false;
  sync::throwing_with("sley::call_once", [&](std::error_code& e) { is_ours = begin(ctx, e); });
  return is_ours;
}

// False: the limit was reached.
bool once_flag::begin_within(detail::wait_limit limit, bool& is_ours) {
  rt::enter();
  bool is_running = true;
  bool is_in_time = true;
  while (is_running && is_in_time) {  // ends as above
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    is_running = phase_.load_relaxed() == running;
    if (is_running) {
      is_in_time = self.park(waiters_, rt::wait::once_wait, this);
    } else {
      is_ours = phase_.load_relaxed() == open;
      if (is_ours) phase_.store_relaxed(running);
      waiters_.guard().release();
    }
  }
  rt::leave();
  return is_in_time;
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
