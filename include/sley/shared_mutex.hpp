// A lock that many may share, as in <shared_mutex>.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/deadline.hpp>
#include <sley/detail/lock_owner.hpp>
#include <sley/detail/lock_report.hpp>
#include <sley/detail/semaphore_core.hpp>
#include <sley/detail/wait_list.hpp>

#include <chrono>
#include <cstdint>
#include <system_error>

namespace sley {

// As std::shared_mutex, and with the timed members of std::shared_timed_mutex. Waiting parks a
// goroutine and blocks a foreign thread. Meets the standard's requirements for std::unique_lock and
// std::shared_lock.
//
// Writers go first: once one waits, no new reader gets in; and when it unlocks, all readers that
// have come meanwhile get in before the next writer. Writers are served in order. So a goroutine
// that holds it shared must not ask for it again.
//
// A lock, shared or exclusive, is unlocked by the goroutine (or foreign thread) that locked it.
// Unlocking what is not locked is a fatal error, as in Go. It must not be destroyed while it is
// locked, or while a call is under way that is no unlock; the destructor lets an unlock() of
// another goroutine end. Debug builds report that, unlocking what only others have locked, and
// lock() and lock_shared() by a goroutine that holds it, with both places. The forms that try do
// not wait for ever, and just fail.
//
// Where writers are rare, readers leave their marks in slots of the processor that they run on, and
// do not write to the lock itself; the next writer looks at the slots of all processors. From BRAVO
// (Dice and Kogan, 2019).
class SLEY_API shared_mutex {
 public:
  shared_mutex() noexcept : writers_(1, 1) {}
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex();

  void lock() { lock_within(detail::no_deadline); }
  // As lock(), given up when the context ends: it is not locked then, and the error is ctx.error().
  // The first form throws std::system_error, both std::bad_alloc.
  void lock(const context& ctx);
  void lock(const context& ctx, std::error_code& error);
  // Never parks.
  bool try_lock() noexcept;
  // Park at most for d, or until t. std::bad_alloc without memory for a timer.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return try_lock() || lock_within(detail::deadline_in(d));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return try_lock() || detail::wait_until_time(t, [this](std::int64_t deadline_ns) {
             return lock_within(deadline_ns);
           });
  }
  // Never parks.
  void unlock() noexcept;

  void lock_shared() {
    if constexpr (detail::checks_lock_owners) check_not_held();
    detail::lock_report::attempt reported(report_, detail::lock_kind::shared, true);
    reported.ends(share_if_free() || lock_shared_slow(detail::no_deadline));
  }
  void lock_shared(const context& ctx);  // as lock()
  void lock_shared(const context& ctx, std::error_code& error);
  // Never parks. Fails if a writer has the lock or waits for it.
  bool try_lock_shared() noexcept;
  // Park at most for d, or until t. std::bad_alloc without memory for a timer.
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) {
    detail::lock_report::attempt reported(report_, detail::lock_kind::shared, false);
    return reported.ends(share_if_free() || lock_shared_slow(detail::deadline_in(d)));
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::lock_report::attempt reported(report_, detail::lock_kind::shared, false);
    return reported.ends(share_if_free() ||
                         detail::wait_until_time(t, [this](std::int64_t deadline_ns) {
                           return lock_shared_slow(deadline_ns);
                         }));
  }
  // Never parks.
  void unlock_shared() noexcept;

 private:
  // Of state_. The rest counts the readers that are not in slots.
  static constexpr std::uint64_t writer = 1;   // one has the lock, or is the next to have it
  static constexpr std::uint64_t drains = 2;   // it waits until the count is zero
  static constexpr std::uint64_t blocked = 4;  // readers wait, or may
  static constexpr std::uint64_t reader = 8;

  struct turn;

  void check_not_held() const noexcept;

  std::uintptr_t mark() const noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  bool share_if_free() noexcept;
  bool enter_slot() noexcept;
  bool leave_slot() noexcept;
  bool count_in() noexcept;
  void count_out() noexcept;
  void prefer_slots() noexcept;
  bool lock_shared_slow(detail::wait_limit limit);
  bool count_in_or_mark() noexcept;

  bool take_if_free() noexcept;
  void let_go() noexcept;
  bool lock_within(detail::wait_limit limit);
  bool drain_count(detail::wait_limit limit);
  bool stop_draining() noexcept;
  bool drain_slots(detail::wait_limit limit);
  void close_slots() noexcept;
  bool is_any_slot_taken() const noexcept;
  void let_readers_in() noexcept;
  void end_turn() noexcept;

  // Of an exclusive lock. At the beginning, where dumps look.
  [[no_unique_address]] detail::lock_owner owner_;
  // SM-1  The critical sections: cas_release or sub_acq_rel in the unlocks <-> cas_acquire or
  //       or_acq_rel in the locks, of one word. A waiter is marked in it under the waiters' lock,
  //       so a thread that changes it otherwise knows which waiters to wake, and touches nothing of
  //       the lock if there are none.
  // SM-2  A reader in a slot against a writer.
  //         A reads:   1 slot = lock             2 read has_slots_
  //         B writes:  3 has_slots_ = false      4 read all slots
  //         Bad: A reads true at 2, B misses A's slot at 4: both have the lock.
  //         So:  a light barrier between 1 and 2, a heavy one between 3 and 4.
  //       A reader makes has_slots_ true only while it is in the count, and a writer looks again
  //       when that is zero. A reader that reads true has seen all that writers before did:
  //       store_release in prefer_slots <-> load_acquire in enter_slot. What a reader in a slot did
  //       is over when the writer has the lock by SM-3, which stands in parts/reader_slots.hpp.
  // SM-4  A reader leaves its slot, or a writer waits for it.
  //         A leaves:  1 slot = 0                2 read how many writers ask
  //         B asks:    3 one more asks           4 read all slots
  //         Bad: A reads zero at 2, B finds A's slot taken at 4: no reader wakes B.
  //         So:  a light barrier between 1 and 2, a heavy one between 3 and 4. The writers'
  //         place to ask is not in the lock, which A does not touch after 1.
  detail::atomic<std::uint64_t> state_;  // [atomic SM-1]
  detail::atomic<bool> has_slots_;       // [atomic SM-2] readers may use slots
  bool is_asking_ = false;               // [writer] slots may still be taken from before
  detail::atomic<std::uint32_t> reads_;  // relaxed: about how many readers have been in the count
  detail::atomic<std::int64_t> no_slots_before_ns_;  // relaxed: a hint
  detail::semaphore_core writers_;                   // whose turn it is among writers
  detail::wait_list draining_;                       // the writer that waits for the count
  detail::wait_list readers_;
  [[no_unique_address]] detail::lock_report report_;
};

}  // namespace sley
