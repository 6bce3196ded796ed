// What counting_semaphore is made of.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/wait_list.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <system_error>

namespace sley::detail {

class SLEY_API semaphore_core {
 public:
  static constexpr std::ptrdiff_t max = std::numeric_limits<std::ptrdiff_t>::max() / 2;

  // std::logic_error if the count is negative or over the limit, as for release().
  constexpr explicit semaphore_core(std::ptrdiff_t count, std::ptrdiff_t limit)
      : state_(checked(count, limit) * unit) {}

  bool try_acquire() noexcept {
    std::ptrdiff_t seen = state_.load_relaxed();  // the cas decides
    while (seen >= unit) {  // ends: each failure means that another thread changed it
      if (state_.cas_acquire(seen, seen - unit, "SE-1")) return true;
    }
    return false;
  }
  void acquire() {
    if (!try_acquire()) acquire_slow(no_deadline);
  }
  bool try_acquire_until(wait_limit limit) { return try_acquire() || acquire_slow(limit); }
  void acquire(const context& ctx, std::error_code& error);
  void acquire(const context& ctx);
  void release(std::ptrdiff_t n, std::ptrdiff_t limit) {
    std::ptrdiff_t seen = state_.load_relaxed();                           // the cas decides
    while ((seen & awaited) == 0 && n >= 0 && n <= limit - seen / unit) {  // ends as above
      if (state_.cas_release(seen, seen + n * unit, "SE-1")) return;
    }
    release_slow(n, limit);
  }

 private:
  static constexpr std::ptrdiff_t awaited = 1;  // a waiter is, or may be, in waiters_
  static constexpr std::ptrdiff_t unit = 2;

  static constexpr std::ptrdiff_t checked(std::ptrdiff_t count, std::ptrdiff_t limit) {
    if (count < 0 || count > limit) throw_bad_count();
    return count;
  }
  [[noreturn]] static void throw_bad_count();
  bool acquire_slow(wait_limit limit);
  bool take_or_mark() noexcept;
  void release_slow(std::ptrdiff_t n, std::ptrdiff_t limit);

  // SE-1  The acquire() that a release() lets through sees all writes before that release():
  //       cas_release or add_acq_rel in release <-> cas_acquire in try_acquire and take_or_mark;
  //       through the waiters' lock for a waiter that parked.
  // SE-2  A waiter in waiters_ has set `awaited` with the list's lock held, and it is cleared with
  //       that lock held while the list is empty: a release that does not see it has no waiter to
  //       wake.
  detail::atomic<std::ptrdiff_t> state_;  // [atomic SE-1, SE-2] the count, and `awaited`
  wait_list waiters_;
};

}  // namespace sley::detail
