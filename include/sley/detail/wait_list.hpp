// A FIFO of parked goroutines (and blocked foreign threads) with the lock that guards it: what the
// primitives of <sley/sync.hpp> and futures are made of. Waiting until a deadline is in
// sync/timed_waiter.hpp.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/lock.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::rt {
enum class wait : std::uint8_t;
}

namespace sley::detail {

struct list_waiter;

// Waiters that have been chosen and are still to be made runnable.
struct chosen_waiters {
  list_waiter* first = nullptr;
  list_waiter* last = nullptr;
};

class SLEY_API wait_list {
 public:
  wait_list() noexcept = default;
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;
#ifdef SLEY_DEBUG_CHECKS
  ~wait_list() { wait_until_unused(); }
#endif

  lock& guard() noexcept { return lock_; }

  // With guard() held. A waiter that has timed out may be counted for a moment longer.
  bool is_empty() const noexcept { return first_ == nullptr; }
  bool has_more_than_one() const noexcept { return first_ != nullptr && first_ != last_; }

  // Called with guard() held; parks and lets it go. Returns after a wake_ call chose this waiter.
  // Dumps name the object that it waits for. `first_in_line` puts it at the front, because it was
  // woken and found nothing. True: its waker has told it something (list_waiter::is_told).
  bool park(rt::wait reason, const void* object, bool first_in_line = false);

  // Called with guard() held, which they let go before they make a waiter runnable. wake_one: false
  // if there was no waiter, or only waiters that have timed out.
  bool wake_one_and_release() noexcept;
  void wake_all_and_release() noexcept;
  // The same in two steps. choose() takes up to `count` waiters that have not timed out, the
  // longest wait first, and returns how many; each will find that it was chosen.
  std::size_t choose(std::size_t count, chosen_waiters& chosen) noexcept;
  void release_and_wake(const chosen_waiters& chosen) noexcept;

  // With guard() held, for the mutex profile, while it is on: how long all waiters have waited
  // together since the last call; 0 if there is none, or none that began while it was on.
  std::int64_t take_delay() noexcept;

  // Without guard(), from user code, before the list goes: returns once the waiters that have timed
  // out will not touch it any more. If another waiter is there, that is a fatal error.
  void wait_until_unused() noexcept;

  // For waiters, with guard() held.
  void push(list_waiter* w, bool first_in_line) noexcept;
  void remove(list_waiter* w) noexcept;

 private:
  bool is_awaited() const noexcept;
  void note_begin(list_waiter* w, bool first_in_line) const noexcept;
  void unlink(list_waiter* previous, list_waiter* next) noexcept;

  lock lock_{lock_rank::waiters};
  std::uint32_t size_ = 0;        // [lock: lock_] the number of waiters
  list_waiter* first_ = nullptr;  // [lock: lock_]
  list_waiter* last_ = nullptr;   // [lock: lock_]
};

}  // namespace sley::detail
