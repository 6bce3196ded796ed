// Synchronisation for goroutines: the standard library's names where it has the thing, Go's where
// it has not. Where one of these parks a goroutine it blocks a foreign thread.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/wait_list.hpp>
#include <sley/go.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

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

// Waits for a number of goroutines to finish. It may be destroyed as soon as all wait() calls have
// returned. From Go's sync.WaitGroup.
class SLEY_API wait_group {
 public:
  constexpr wait_group() noexcept = default;
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;

  // Adds n, which may be negative, to the counter; when it reaches zero, wakes those in wait().
  // Never parks. A counter that would go below zero or over 2^31-1 throws std::logic_error.
  void add(std::int32_t n) {
    // WT-1  What was done before done() is seen after wait(): add_acq_rel in add <-> load_acquire
    //       in wait; through the waiters' lock for those who parked.
    const std::uint64_t after = state_.add_acq_rel(units(n), "WT-1") + units(n);
    if (count(after) < 0 || (count(after) == 0 && after != 0)) add_slow(n, after);
  }
  void done() { add(-1); }

  // Parks until the counter is zero.
  void wait() {
    if (count(state_.load_acquire("WT-1")) != 0) wait_slow();
  }

  // add(1), then f() in a goroutine, then done(), also if the goroutine ends by exit(). What f
  // holds is destroyed before done().
  template <class F>
  void go(F&& f) {
    add(1);
    try {
      sley::go([this, f = std::decay_t<F>(std::forward<F>(f))]() mutable {
        struct finisher {
          wait_group* group;
          ~finisher() { group->done(); }
        } guard{this};
        auto local = std::move(f);
        std::invoke(std::move(local));
      });
    } catch (...) {
      done();
      throw;
    }
  }

 private:
  static constexpr std::uint64_t units(std::int32_t n) {
    return static_cast<std::uint64_t>(std::int64_t{n}) << 32;
  }
  static constexpr std::int32_t count(std::uint64_t state) {
    return static_cast<std::int32_t>(state >> 32);
  }

  void add_slow(std::int32_t n, std::uint64_t after);
  void wait_slow();

  // The counter in the upper half, those parked in wait() in the lower: one word, so that the last
  // done() touches nothing else when nobody waits, and the group may be destroyed at once.
  detail::atomic<std::uint64_t> state_;  // [atomic WT-1]
  detail::wait_list waiters_;
};

}  // namespace sley
