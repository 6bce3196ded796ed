// The limit of announced calls: set_blocking_limit.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/intrusive_queue.hpp"
#include "runtime/state/goroutine.hpp"

#include <climits>
#include <cstddef>

namespace sley::rt {

// A goroutine that waits for a place; on its own stack.
struct call_waiter {
  call_waiter* next = nullptr;  // [lock: call_places::lock_]
  goroutine* g = nullptr;       // [const]
};

using call_waiters = base::intrusive_queue<call_waiter, &call_waiter::next>;

// Each announced call takes a place while there is a limit. Without one, a call looks at one word
// and counts nothing.
class call_places {
 public:
  static constexpr int no_limit = INT_MAX;

  bool are_limited() const noexcept { return are_limited_.load_relaxed(); }  // of later calls
  // Parks until there is a place; in order. [user]
  void take() noexcept;
  void give_back() noexcept;  // [user]
  // Returns the old limit. [user]
  int set_limit(int n) noexcept;

 private:
  static constexpr std::ptrdiff_t awaited = 1;
  static constexpr std::ptrdiff_t place = 2;

  bool try_take() noexcept;
  bool take_or_mark() noexcept;
  void give_back_slow() noexcept;
  call_waiters serve(std::ptrdiff_t more) noexcept;

  detail::atomic<bool> are_limited_;  // relaxed: a call that does not see it counts as earlier
  // BC-1  A call that another one's end lets through comes after it: cas_release in give_back and
  //       serve <-> cas_acquire in try_take and take_or_mark; through the lock for a waiter that
  //       parked.
  // BC-2  `awaited` is set while a goroutine waits, and no place is free then. It is set and
  //       cleared under the lock, so the end of a call that does not see it has no waiter to wake,
  //       and a call that finds a place overtakes none.
  //
  // The places that are free, twice, and `awaited`. Below zero after the limit was lowered.
  detail::atomic<std::ptrdiff_t> state_{no_limit * place};  // [atomic BC-1, BC-2]
  detail::lock lock_{detail::lock_rank::waiters};
  int limit_ = no_limit;  // [lock: lock_]
  call_waiters waiters_;  // [lock: lock_]
};

extern call_places announced_calls;

}  // namespace sley::rt
