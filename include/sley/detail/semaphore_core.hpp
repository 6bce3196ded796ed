// What counting_semaphore is made of.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/unit_count.hpp>
#include <sley/detail/wait_list.hpp>

#include <cstddef>
#include <system_error>

namespace sley::detail {

class SLEY_API semaphore_core {
 public:
  static constexpr std::ptrdiff_t max = unit_count::max;

  // std::logic_error if the count is negative or over the limit, as for release().
  constexpr explicit semaphore_core(std::ptrdiff_t count, std::ptrdiff_t limit)
      : units_(checked(count, limit)) {}

  bool try_acquire() noexcept { return units_.try_take(); }
  void acquire() {
    if (!try_acquire()) acquire_slow(no_deadline);
  }
  bool try_acquire_until(wait_limit limit) { return try_acquire() || acquire_slow(limit); }
  void acquire(const context& ctx, std::error_code& error);
  void acquire(const context& ctx);
  void release(std::ptrdiff_t n, std::ptrdiff_t limit) {
    if (!units_.try_give(n, limit)) release_slow(n, limit, false);
  }
  // The same of one unit where there is no other: a lock, which the mutex profile sees, and whose
  // waiters are waiters of `object` in dumps.
  bool acquire_lock(wait_limit limit, rt::wait reason, const void* object) {
    return try_acquire() || acquire_slow(limit, reason, object);
  }
  // False while a release_lock() is still to give it back, or is about to.
  bool is_given_back() const noexcept { return units_.has_any(); }
  void release_lock() {
    if (!units_.try_give(1, 1)) release_slow(1, 1, true);
  }

 private:
  static constexpr std::ptrdiff_t checked(std::ptrdiff_t count, std::ptrdiff_t limit) {
    if (count < 0 || count > limit) throw_bad_count();
    return count;
  }
  [[noreturn]] static void throw_bad_count();
  bool acquire_slow(wait_limit limit);
  bool acquire_slow(wait_limit limit, rt::wait reason, const void* object);
  void release_slow(std::ptrdiff_t n, std::ptrdiff_t limit, bool is_lock);

  unit_count units_;
  wait_list waiters_;
};

}  // namespace sley::detail
