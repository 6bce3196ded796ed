// A lock for goroutines.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/lock_owner.hpp>
#include <sley/detail/lock_report.hpp>
#include <sley/detail/refused.hpp>
#include <sley/detail/wait_list.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

namespace sley {

namespace sync {
class timed_waiter;
}

// A lock that parks a goroutine and blocks a foreign thread. Meets the standard's TimedMutex
// requirements (works in std::lock_guard, std::unique_lock and std::scoped_lock). Not recursive.
// The goroutine (or foreign thread) that locked it unlocks it; a binary_semaphore may be taken by
// one and given back by another. Debug builds report these errors: another caller unlocks it; its
// holder waits for it (the report names both places; the forms that try just fail); it is destroyed
// while it is held or waited for.
//
// Waiters are served in order, but a running goroutine may overtake a waiter that has been woken
// and does not run yet, which is many times faster. A waiter that has waited for more than a
// millisecond is not overtaken any more: the lock is handed to it, and to the waiters behind it,
// until one has waited for less. From Go's sync.Mutex.
class SLEY_API mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&, detail::goroutines_share_one_mutex_by_reference = {}) = delete;
  mutex& operator=(const mutex&) = delete;
#ifdef SLEY_DEBUG_CHECKS
  ~mutex() { check_unused(); }
#endif

  // Parks until it is free, and takes it.
  void lock() {
    detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, true);
    std::uint32_t free = 0;
    if (!is_crowded_.load_relaxed() && state_.cas_acquire(free, locked, "MX-1")) {
      reported.ends(true);
      return owner_.enter();
    }
    reported.ends(take_if_free() || lock_slow(detail::no_deadline));
  }
  // Never parks. False if it is locked; never for another reason.
  bool try_lock() noexcept {
    detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, false);
    return reported.ends(take_if_free());
  }
  // As lock(), given up when the context ends: it is not locked then, and the error is ctx.error().
  // The first form throws std::system_error, both std::bad_alloc. std::adopt_lock makes a guard of
  // it.
  void lock(const context& ctx);
  void lock(const context& ctx, std::error_code& error);
  // False if it could not be had until then. Throws std::bad_alloc.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, false);
    return reported.ends(take_if_free() || lock_slow(detail::deadline_in(d)));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::lock_report::attempt reported(report_, detail::lock_kind::exclusive, false);
    return reported.ends(take_if_free() ||
                         detail::wait_until_time(t, [this](std::int64_t deadline_ns) {
                           return lock_slow(deadline_ns);
                         }));
  }
  // Never parks. Unlocking an unlocked mutex is a fatal error, as in Go.
  void unlock() noexcept {
    owner_.leave("sley: a mutex is unlocked by a goroutine or thread that has not locked it");
    report_.gives_back(detail::lock_kind::exclusive);
    let_go();
  }

 private:
  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t contended = 2;  // a waiter is, or may be, in waiters_
  static constexpr std::uint32_t woken = 4;      // a caller is on the way to take it
  static constexpr std::uint32_t starving = 8;   // it is handed over: locked all the time

  struct attempt;
  enum class outcome;

  bool take_if_free() noexcept {
    std::uint32_t seen = state_.load_relaxed();  // the cas decides
    while ((seen & locked) == 0) {               // ends: each failure means that it has changed
      if (state_.cas_acquire(seen, seen | locked, "MX-1")) {
        owner_.enter();
        return true;
      }
    }
    return false;
  }
  void let_go() noexcept {
    std::uint32_t held = locked;
    if (is_crowded_.load_relaxed() || !state_.cas_release(held, 0, "MX-1")) unlock_slow();
  }

  // False: the limit was reached.
  bool lock_slow(detail::wait_limit limit);
  bool spin(attempt& a) noexcept;
  bool take(const attempt& a) noexcept;
  bool take_or_mark(attempt& a) noexcept;
  outcome wait(attempt& a);
  void arm(std::optional<sync::timed_waiter>& timed, attempt& a);
  bool give_back(const attempt& a) noexcept;
  void stop_waiting() noexcept;
  void unlock_slow() noexcept;
  bool hand_on() noexcept;
  void check_unused() const noexcept;

  [[no_unique_address]] detail::lock_owner owner_;  // at the beginning, where dumps look
  // MX-1  The critical section is handed over: cas_release or exchange_release to unlocked, or to a
  //       waiter, in unlock <-> cas_acquire to locked in lock and try_lock, or load_acquire by the
  //       waiter that gets it.
  // MX-2  A waiter in waiters_ has set `contended` with the list's lock held, while the mutex was
  //       locked; it is cleared with that lock held while the list is empty. So an unlock that does
  //       not see it has no waiter to wake. An unlock that sees it finds a waiter, whose need keeps
  //       the mutex alive.
  detail::atomic<std::uint32_t> state_;  // [atomic MX-1, MX-2]
  // Relaxed, a hint: there is a waiter, so a cas that expects none would fail, which costs as much
  // as a cas that succeeds. A look at state_ itself would have to wait for the cas before.
  detail::atomic<bool> is_crowded_;
  detail::wait_list waiters_;
  [[no_unique_address]] detail::lock_report report_;
};

// The standard's other name for it.
using timed_mutex = mutex;

}  // namespace sley
