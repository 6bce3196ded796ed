// A lock for goroutines.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/wait_list.hpp>

#include <cstdint>

namespace sley {

// A lock that parks. Meets the standard's Mutex requirements (works in std::lock_guard and
// std::unique_lock). Not recursive. It may be unlocked by another goroutine than the one that
// locked it, as Go's sync.Mutex, and must not be destroyed while held or waited for.
class SLEY_API mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  // Parks until the lock is free. Waiters are served in order, but a running goroutine may overtake
  // one that has been woken and does not run yet.
  void lock() {
    std::uint32_t unlocked = 0;
    if (!state_.cas_acquire(unlocked, locked, "MX-1")) lock_slow();
  }
  // Never parks.
  bool try_lock() noexcept {
    std::uint32_t expected = state_.load_relaxed();  // a hint: the cas decides
    return (expected & locked) == 0 && state_.cas_acquire(expected, expected | locked, "MX-1");
  }
  // Never parks. Unlocking an unlocked mutex is a fatal error, as in Go.
  void unlock() noexcept {
    std::uint32_t held = locked;
    if (!state_.cas_release(held, 0, "MX-1")) unlock_slow();
  }

 private:
  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t contended = 2;  // somebody is, or may be, in waiters_

  void lock_slow();
  bool take_or_mark() noexcept;
  void unlock_slow() noexcept;

  // MX-1  The critical section is handed over: cas_release to unlocked in unlock <-> cas_acquire to
  //       locked in lock and try_lock.
  detail::atomic<std::uint32_t> state_;  // [atomic MX-1]
  detail::wait_list waiters_;
};

}  // namespace sley
