// The waiting of condition variables. From Go's notifyList, with a place in line for its ticket.
#include <sley/detail/condition.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/wait_with_context.hpp"

#include <stdexcept>

namespace sley::detail {

void condition::notify_one() noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  waiters_.wake_one_and_release();
  rt::leave(m);
}

void condition::notify_all() noexcept {
  rt::machine* m = rt::enter();
  waiters_.guard().acquire();
  waiters_.wake_all_and_release();
  rt::leave(m);
}

std::error_code condition::error_of(const context& ctx) noexcept { return sync::error_of(ctx); }

bool condition::wait_with(const context& ctx, std::error_code& error, const void* mutex,
                          bool (*unlock)(void*) noexcept, void* lock) {
  bool is_unlocked = false;
  sync::wait_with(ctx, error, [&](wait_limit limit) {
    const bool is_in_time = wait_until(limit, mutex, unlock, lock);
    is_unlocked = true;
    return is_in_time;
  });
  return is_unlocked;
}

bool condition::wait_until(wait_limit limit, const void* mutex, bool (*unlock)(void*) noexcept,
                           void* lock) {
  rt::enter();
  bool is_right = true;
  bool is_in_time = true;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    is_right = is_for(mutex);
    if (is_right) {
      self.get_in_line(waiters_);
      rt::leave();
      const bool must_wait = unlock(lock);
      rt::enter();
      if (must_wait) {
        is_in_time = self.park_in_line(rt::wait::condition_wait, this);
      } else {
        self.leave_line();
      }
    } else {
      waiters_.guard().release();
    }
  }
  rt::leave();
  if (!is_right)
    throw std::logic_error("sley::condition_variable: other goroutines wait with another mutex");
  return is_in_time;
}

// Requires the list's lock.
bool condition::is_for(const void* mutex) noexcept {
  if (waiters_.is_empty()) mutex_ = mutex;
  return mutex_ == mutex;
}

void check_owns_lock(bool owns_lock) {
  if (!owns_lock) throw std::logic_error("sley::condition_variable: the lock is not held");
}

}  // namespace sley::detail
