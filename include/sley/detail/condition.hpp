// The common part of both condition variables.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/wait_list.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <stop_token>
#include <system_error>
#include <type_traits>

namespace sley::detail {

SLEY_API void check_owns_lock(bool owns_lock);

// A waiter gets in line before it lets go of the lock, so every notification that comes after that
// finds it.
class SLEY_API condition {
 public:
  condition() noexcept = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition() { waiters_.wait_until_unused(); }

  void notify_one() noexcept;
  void notify_all() noexcept;

  // False: the time is up. `mutex` is the lock's, or null if there is no such rule: all callers
  // that wait at the same time must name the same.
  template <class Lock>
  bool wait(Lock& lock, std::int64_t deadline_ns, const void* mutex = nullptr) {
    check_owned(lock);
    const auto unlock = [](void* arg) noexcept {
      static_cast<Lock*>(arg)->unlock();
      return true;
    };
    const bool is_in_time = wait_until(deadline_ns, mutex, unlock, &lock);
    lock_again(lock);
    return is_in_time;
  }

  // Given up when the context ends, with its error. If it has ended before, nothing was unlocked.
  template <class Lock>
  void wait(Lock& lock, const context& ctx, std::error_code& error, const void* mutex = nullptr) {
    check_owned(lock);
    const auto unlock = [](void* arg) noexcept {
      static_cast<Lock*>(arg)->unlock();
      return true;
    };
    if (wait_with(ctx, error, mutex, unlock, &lock)) lock_again(lock);
  }
  // Until predicate() is true.
  template <class Lock, class Predicate>
  void wait(Lock& lock, const context& ctx, Predicate& predicate, std::error_code& error,
            const void* mutex = nullptr) {
    error = error_of(ctx);
    while (!error && !predicate()) wait(lock, ctx, error, mutex);
  }

  template <class Operation>
  static void throwing(Operation operation) {
    std::error_code error;
    operation(error);
    if (error) throw std::system_error(error, "sley::condition_variable: wait");
  }

  // Does not wait if a stop has been requested. A later request notifies, and finds us in line,
  // because the line's lock orders our look after that request or the request's look after us.
  template <class Lock>
  bool wait_unless(Lock& lock, std::int64_t deadline_ns, const std::stop_token& stop) {
    check_owned(lock);
    struct waiting {
      Lock& lock;
      const std::stop_token& stop;
      bool is_unlocked = false;
    } self{lock, stop};
    const auto unlock = [](void* arg) noexcept {
      auto* w = static_cast<waiting*>(arg);
      if (w->stop.stop_requested()) return false;
      w->lock.unlock();
      return w->is_unlocked = true;
    };
    const bool is_in_time = wait_until(deadline_ns, nullptr, unlock, &self);
    if (self.is_unlocked) lock_again(lock);
    return is_in_time;
  }

 private:
  // std::logic_error if the lock knows that it is not held. One that does not know, such as a
  // mutex, says so when it is unlocked.
  template <class Lock>
  static void check_owned(const Lock& lock) {
    if constexpr (requires { static_cast<bool>(lock.owns_lock()); }) {
      check_owns_lock(lock.owns_lock());
    }
  }

  // Once in line calls unlock(lock), and waits if that returns true. std::logic_error and
  // std::bad_alloc come before.
  bool wait_until(wait_limit limit, const void* mutex, bool (*unlock)(void* lock) noexcept,
                  void* lock);
  // The same for a context. True: it has called unlock(lock).
  bool wait_with(const context& ctx, std::error_code& error, const void* mutex,
                 bool (*unlock)(void* lock) noexcept, void* lock);
  static std::error_code error_of(const context& ctx) noexcept;
  [[nodiscard]] bool is_for(const void* mutex) noexcept;

  // A lock that cannot be taken again ends the program, as the standard says.
  template <class Lock>
  static void lock_again(Lock& lock) noexcept {
    lock.lock();
  }

  wait_list waiters_;
  const void* mutex_ = nullptr;  // [lock: of waiters_] of the callers that wait
};

// What a wait until t must report. Not a timeout if t's clock has been set back meanwhile.
template <class Clock, class Duration>
std::cv_status status_at(const std::chrono::time_point<Clock, Duration>& t, bool is_in_time) {
  const bool is_early =
      is_in_time || (!std::is_same_v<Clock, std::chrono::steady_clock> && !has_come(t));
  return is_early ? std::cv_status::no_timeout : std::cv_status::timeout;
}

}  // namespace sley::detail
