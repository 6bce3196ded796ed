// The limit of announced calls: set_blocking_limit.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>
#include <sley/detail/unit_count.hpp>

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
  void give_back_slow() noexcept;
  call_waiters serve(std::ptrdiff_t more) noexcept;

  detail::atomic<bool> are_limited_;  // relaxed: a call that does not see it counts as earlier
  // The places that are free; below zero after the limit was lowered.
  detail::unit_count free_{no_limit};
  detail::lock lock_{detail::lock_rank::waiters};
  int limit_ = no_limit;  // [lock: lock_]
  call_waiters waiters_;  // [lock: lock_]
};

extern call_places announced_calls;

}  // namespace sley::rt
