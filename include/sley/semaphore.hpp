// Counting semaphores, as in <semaphore>, and one whose holders may take more than one unit.
#pragma once

#include <sley/chan.hpp>
#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/semaphore_core.hpp>
#include <sley/mutex.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace sley {

// As std::counting_semaphore; acquire() parks a goroutine and blocks a foreign thread. Waiters are
// served in order: a unit that is released while a waiter waits is the first waiter's, and no
// caller can overtake. try_acquire() does not fail spuriously. It may be destroyed when no call is
// under way but a release() of units that have all been acquired.
template <std::ptrdiff_t LeastMaxValue = detail::semaphore_core::max>
class counting_semaphore {
  static_assert(LeastMaxValue >= 0 && LeastMaxValue <= detail::semaphore_core::max);

 public:
  // std::logic_error unless 0 <= count <= max().
  constexpr explicit counting_semaphore(std::ptrdiff_t count) : core_(count, LeastMaxValue) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;

  static constexpr std::ptrdiff_t max() noexcept { return LeastMaxValue; }

  // Adds n units. Never parks. std::logic_error, and nothing happened, if n is negative or there
  // would be more than max().
  void release(std::ptrdiff_t n = 1) { core_.release(n, LeastMaxValue); }

  // Parks until there is a unit, and takes it.
  void acquire() { core_.acquire(); }
  // The same, given up when the context ends: no unit was taken then, and the error is ctx.error().
  // The first form throws std::system_error, both std::bad_alloc.
  void acquire(const context& ctx) { core_.acquire(ctx); }
  void acquire(const context& ctx, std::error_code& error) { core_.acquire(ctx, error); }
  // Never parks.
  bool try_acquire() noexcept { return core_.try_acquire(); }

  // Park at most for d, or until t. False: the time is up, and no unit was taken; there is at least
  // one try. std::bad_alloc without memory for a timer.
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& d) {
    return core_.try_acquire() || core_.try_acquire_until(detail::deadline_in(d));
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
    return detail::wait_until_time(
        t, [this](std::int64_t deadline_ns) { return core_.try_acquire_until(deadline_ns); });
  }

 private:
  detail::semaphore_core core_;
};

// As std::binary_semaphore.
using binary_semaphore = counting_semaphore<1>;

// A number of units, of which each holder takes as many as it needs. Waiters are served in order: a
// waiter that needs much is not overtaken for ever by waiters that need little, and while a waiter
// waits try_acquire() fails. It may be destroyed when no call is under way. From Go's
// golang.org/x/sync/semaphore.
class SLEY_API weighted_semaphore {
 public:
  // std::logic_error if n is negative.
  explicit weighted_semaphore(std::int64_t n);
  weighted_semaphore(const weighted_semaphore&) = delete;
  weighted_semaphore& operator=(const weighted_semaphore&) = delete;

  // All of these: std::logic_error if k is negative.

  // Parks until k units are free, and takes them. std::logic_error if there are not that many.
  void acquire(std::int64_t k = 1);
  // Parks at most until the context ends, and takes none then, nor if it has ended before: the
  // error is ctx.error(). Waits for that if there never can be k units.
  void acquire(const context& ctx, std::int64_t k = 1);
  void acquire(const context& ctx, std::int64_t k, std::error_code& error);
  // Never parks for long, because the state is guarded by a mutex that is held for a moment.
  bool try_acquire(std::int64_t k = 1);
  // Parks at most for d, or until t; the whole time if there never can be k units. False: none was
  // taken.
  template <class Rep, class Period>
  bool try_acquire_for(std::int64_t k, const std::chrono::duration<Rep, Period>& d) {
    return acquire_until(k, detail::deadline_in(d), nullptr);
  }
  template <class Clock, class Duration>
  bool try_acquire_until(std::int64_t k, const std::chrono::time_point<Clock, Duration>& t) {
    return detail::wait_until_time(
        t, [&](std::int64_t deadline_ns) { return acquire_until(k, deadline_ns, nullptr); });
  }
  // Parks at most until something can be received from `canceled`, or it is closed. False: none was
  // taken.
  bool try_acquire_unless(std::int64_t k, recv_chan<void> canceled) {
    return acquire_until(k, detail::no_deadline, std::move(canceled));
  }

  // Gives k units back. std::logic_error, and nothing happened, if fewer are taken.
  void release(std::int64_t k = 1);

 private:
  struct waiter;

  bool acquire_until(std::int64_t k, std::int64_t deadline_ns, recv_chan<void> canceled);
  bool leave_line(waiter* w);
  void push(waiter* w) noexcept;
  void remove(waiter* w) noexcept;
  void serve_waiters();

  mutex mutex_;
  const std::int64_t size_;
  std::int64_t taken_ = 0;   // [lock: mutex_]
  waiter* first_ = nullptr;  // [lock: mutex_]
  waiter* last_ = nullptr;   // [lock: mutex_]
};

}  // namespace sley
