// The slow paths of counting_semaphore.
#include <sley/detail/semaphore_core.hpp>

#include "runtime/entry/enter.hpp"
#include "runtime/state/wait_reason.hpp"
#include "sync/timed_waiter.hpp"
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

// A chosen waiter has its unit, which was never added to the count.
bool semaphore_core::acquire_slow(wait_limit limit) {
  rt::enter();
  bool is_ours;
  {
    sync::timed_waiter self(limit);
    waiters_.guard().acquire();
    is_ours = take_or_mark();
    if (is_ours) {
      waiters_.guard().release();
    } else {
      is_ours = self.park(waiters_, rt::wait::semaphore_acquire);
    }
  }
  rt::leave();
  return is_ours;
}

// Requires the list's lock. True if a unit is ours, else the semaphore is marked.
bool semaphore_core::take_or_mark() noexcept {
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  for (;;) {  // ends: each failure means that another thread changed the count
    if (seen >= unit) {
      if (state_.cas_acquire(seen, seen - unit, "SE-1")) return true;
    } else if (state_.cas_acquire(seen, seen | awaited, "SE-2")) {
      return false;
    }
  }
}

// Serves waiters first; the rest goes to the count. If a waiter was chosen the count is zero, so
// the rest fits.
void semaphore_core::release_slow(std::ptrdiff_t n, std::ptrdiff_t limit) {
  if (n < 0 || n > limit) {
    throw std::logic_error(
        "sley::counting_semaphore: the released count is negative or over max()");
  }
  rt::machine* m = rt::enter();
  chosen_waiters chosen;
  waiters_.guard().acquire();
  const auto left =
      n - static_cast<std::ptrdiff_t>(waiters_.choose(static_cast<std::size_t>(n), chosen));
  const std::ptrdiff_t still_awaited = waiters_.is_empty() ? 0 : awaited;
  std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
  bool fits = left <= limit - seen / unit;
  while (fits &&
         !state_.cas_release(seen, (seen & ~awaited) + left * unit + still_awaited, "SE-1")) {
    fits = left <= limit - seen / unit;
  }
  waiters_.release_and_wake(chosen);
  rt::leave(m);
  if (!fits)
    throw std::logic_error("sley::counting_semaphore: a release would make more units than max()");
}

}  // namespace sley::detail
