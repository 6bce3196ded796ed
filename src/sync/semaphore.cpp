// The slow paths of counting_semaphore.
#include <sley/detail/semaphore_core.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
#include "sync/unlock_event.hpp"
#include "sync/wait_with_context.hpp"

#include <stdexcept>

namespace sley::detail {

void semaphore_core::throw_bad_count() {
  throw std::logic_error("sley::counting_semaphore: the count is negative or over max()");
}

void semaphore_core::acquire(const context& ctx, std::error_code& error) {
  error = sync::error_of(ctx);
  if (error || try_acquire()) return;
  sync::wait_with(ctx, error, [this](wait_limit limit) { return acquire_slow(limit); });
}
void semaphore_core::acquire(const context& ctx) {
  sync::throwing_with("sley::counting_semaphore: acquire",
                      [&](std::error_code& e) { acquire(ctx, e); });
}

bool semaphore_core::acquire_slow(wait_limit limit) {
  return acquire_slow(limit, rt::wait::semaphore_acquire, this);
}

// A chosen waiter has its unit, which was never added to the count.
bool semaphore_core::acquire_slow(wait_limit limit, rt::wait reason, const void* object) {
  rt::enter();
  bool is_ours;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    is_ours = units_.take_or_mark();
    if (is_ours) {
      waiters_.guard().release();
    } else {
      is_ours = self.park(waiters_, reason, object);
    }
  }
  rt::leave();
  return is_ours;
}

// Serves waiters first; the rest goes to the count. If a waiter was chosen the count is zero, so
// the rest fits. The semaphore may go when its last waiter has been woken, and if all have given up
// meanwhile, when the units are there: the lock must be free before.
void semaphore_core::release_slow(std::ptrdiff_t n, std::ptrdiff_t limit, bool is_lock) {
  if (n < 0 || n > limit) {
    throw std::logic_error(
        "sley::counting_semaphore: the released count is negative or over max()");
  }
  rt::machine* m = rt::enter();
  chosen_waiters chosen;
  waiters_.guard().acquire();
  const sync::unlock_event event(is_lock ? &waiters_ : nullptr);
  const auto left =
      n - static_cast<std::ptrdiff_t>(waiters_.choose(static_cast<std::size_t>(n), chosen));
  if (left == n && waiters_.is_empty() && units_.count() <= limit - n) {
    units_.add(0, false, limit);
    waiters_.guard().release();
    rt::leave(m);
    return is_lock ? release_lock() : release(n, limit);
  }
  const bool fits = units_.add(left, !waiters_.is_empty(), limit);
  waiters_.release_and_wake(chosen);
  event.record();
  rt::leave(m);
  if (!fits)
    throw std::logic_error("sley::counting_semaphore: a release would make more units than max()");
}

}  // namespace sley::detail
