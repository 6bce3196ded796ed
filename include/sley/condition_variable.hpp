// Condition variables, as in <condition_variable>.
#pragma once

#include <sley/detail/condition.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/mutex.hpp>

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <utility>

namespace sley {

using std::cv_status;

// As std::condition_variable, with sley::mutex. Waiting parks a goroutine and blocks a foreign
// thread. notify_one() wakes the waiter that waits longest, exactly one, and never a waiter that
// begins to wait later; there are no spurious wake-ups, but a predicate is still the way to wait.
// Notifying never parks and needs no lock. It may be destroyed once all waiters have been notified,
// or have timed out, even if they have not returned yet; earlier, that is a fatal error.
//
// Waiting throws std::logic_error if the lock is not held, or if others wait with another mutex;
// the timed forms throw std::bad_alloc without memory for a timer. Nothing has been unlocked then.
// std::notify_all_at_thread_exit has no counterpart.
class condition_variable {
  using lock_type = std::unique_lock<mutex>;

 public:
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(lock_type& lock) { wait_until_ns(lock, detail::no_deadline); }
  template <class Predicate>
  void wait(lock_type& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  // Given up when the context ends, with its error, and the lock is held again. A predicate is not
  // asked once the context has ended. The forms without `error` throw std::system_error, all of
  // them std::bad_alloc.
  void wait(lock_type& lock, const context& ctx) {
    detail::condition::throwing([&](std::error_code& e) { wait(lock, ctx, e); });
  }
  void wait(lock_type& lock, const context& ctx, std::error_code& error) {
    condition_.wait(lock, ctx, error, lock.mutex());
  }
  template <std::predicate Predicate>
  void wait(lock_type& lock, const context& ctx, Predicate predicate) {
    detail::condition::throwing(
        [&](std::error_code& e) { wait(lock, ctx, std::ref(predicate), e); });
  }
  template <std::predicate Predicate>
  void wait(lock_type& lock, const context& ctx, Predicate predicate, std::error_code& error) {
    condition_.wait(lock, ctx, predicate, error, lock.mutex());
  }

  template <class Clock, class Duration>
  cv_status wait_until(lock_type& lock, const std::chrono::time_point<Clock, Duration>& t) {
    return detail::status_at(t, wait_until_ns(lock, detail::deadline_at(t)));
  }
  template <class Rep, class Period>
  cv_status wait_for(lock_type& lock, const std::chrono::duration<Rep, Period>& d) {
    return wait_until(lock, detail::time_in(d));
  }

  // These return predicate().
  template <class Clock, class Duration, class Predicate>
  bool wait_until(lock_type& lock, const std::chrono::time_point<Clock, Duration>& t,
                  Predicate predicate) {
    while (!predicate()) {
      if (wait_until(lock, t) == cv_status::timeout) return predicate();
    }
    return true;
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(lock_type& lock, const std::chrono::duration<Rep, Period>& d, Predicate predicate) {
    return wait_until(lock, detail::time_in(d), std::move(predicate));
  }

 private:
  bool wait_until_ns(lock_type& lock, std::int64_t deadline_ns) {
    return condition_.wait(lock, deadline_ns, lock.mutex());
  }

  detail::condition condition_;
};

// As std::condition_variable_any: the same with any lock, and waiting that a stop request ends. A
// lock that has owns_lock() must be held, or std::logic_error is thrown. All else is as above, but
// goroutines that wait at the same time may have different locks.
class condition_variable_any {
 public:
  condition_variable_any() noexcept = default;
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;

  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  template <class Lock>
  void wait(Lock& lock) {
    condition_.wait(lock, detail::no_deadline);
  }
  template <class Lock, class Predicate>
  void wait(Lock& lock, Predicate predicate) {
    while (!predicate()) wait(lock);
  }

  // As condition_variable's: given up when the context ends, with its error, and the lock is held
  // again. A predicate is not asked once the context has ended. The forms without `error` throw
  // std::system_error, all of them std::bad_alloc.
  template <class Lock>
  void wait(Lock& lock, const context& ctx) {
    detail::condition::throwing([&](std::error_code& e) { wait(lock, ctx, e); });
  }
  template <class Lock>
  void wait(Lock& lock, const context& ctx, std::error_code& error) {
    condition_.wait(lock, ctx, error);
  }
  template <class Lock, std::predicate Predicate>
  void wait(Lock& lock, const context& ctx, Predicate predicate) {
    detail::condition::throwing(
        [&](std::error_code& e) { wait(lock, ctx, std::ref(predicate), e); });
  }
  template <class Lock, std::predicate Predicate>
  void wait(Lock& lock, const context& ctx, Predicate predicate, std::error_code& error) {
    condition_.wait(lock, ctx, predicate, error);
  }

  template <class Lock, class Clock, class Duration>
  cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t) {
    return detail::status_at(t, condition_.wait(lock, detail::deadline_at(t)));
  }
  template <class Lock, class Rep, class Period>
  cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& d) {
    return wait_until(lock, detail::time_in(d));
  }

  // These return predicate().
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t,
                  Predicate predicate) {
    while (!predicate()) {
      if (wait_until(lock, t) == cv_status::timeout) return predicate();
    }
    return true;
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& d, Predicate predicate) {
    return wait_until(lock, detail::time_in(d), std::move(predicate));
  }

  // These as well; they also end once a stop has been requested.
  template <class Lock, class Predicate>
  bool wait(Lock& lock, std::stop_token stop, Predicate predicate) {
    const std::stop_callback wake(stop, [this] { notify_all(); });
    while (!stop.stop_requested()) {
      if (predicate()) return true;
      condition_.wait_unless(lock, detail::no_deadline, stop);
    }
    return predicate();
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  bool wait_until(Lock& lock, std::stop_token stop,
                  const std::chrono::time_point<Clock, Duration>& t, Predicate predicate) {
    const std::stop_callback wake(stop, [this] { notify_all(); });
    while (!stop.stop_requested()) {
      if (predicate()) return true;
      const bool is_in_time = condition_.wait_unless(lock, detail::deadline_at(t), stop);
      if (detail::status_at(t, is_in_time) == cv_status::timeout) break;
    }
    return predicate();
  }
  template <class Lock, class Rep, class Period, class Predicate>
  bool wait_for(Lock& lock, std::stop_token stop, const std::chrono::duration<Rep, Period>& d,
                Predicate predicate) {
    return wait_until(lock, std::move(stop), detail::time_in(d), std::move(predicate));
  }

 private:
  detail::condition condition_;
};

}  // namespace sley
