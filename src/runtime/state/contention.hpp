// The profiles of waits: where goroutines wait for others (block), and where the holders of locks
// keep others waiting (mutex). From Go's runtime/mprof.go.
//
// An event costs a look at the clock where the wait begins and where it ends, and, if it is taken,
// a walk over the stack. All of it happens where the wait is anyway: in park() and in unlocking.
// While a profile is off, each of these places pays one load and one branch.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/published.hpp"
#include "parts/event_weight.hpp"
#include "parts/stack_totals.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

class contention_profile {
 public:
  // Some 550 bytes for each stack, touched as they are needed.
  using totals = parts::stack_totals<4096>;

  bool is_on() const noexcept { return rate_.load_relaxed() != 0; }
  std::int64_t rate() const noexcept { return rate_.load_relaxed(); }
  // 0: off. Any other rate only once there is room.
  void set_rate(std::int64_t rate) noexcept { rate_.store_relaxed(rate); }

  // The memory of the totals, for ever. False: there is none. Any thread.
  bool make_room() noexcept;
  // What there is so far; null if the profile has never been on.
  totals* so_far() const noexcept { return totals_.read(); }

  // An event with the stack of the calling goroutine or thread. [inside]
  void add(parts::event_weight weight) noexcept;

 private:
  // What it means is the profile's. Relaxed: an event at the moment of a change counts or not.
  detail::atomic<std::int64_t> rate_;
  base::published<totals*> totals_;
};

// Writes the return addresses of the callers of the function that calls this one, and returns their
// number: 0 if there is no room on the goroutine's stack, and where the search for unwind tables
// would take a lock of libc, which a goroutine that was stopped in user code may hold. [inside]
std::size_t collect_callers(std::span<std::uintptr_t> frames) noexcept;

// Its rate is the time of waiting in which it takes one event.
SLEY_HIDDEN extern contention_profile block_profile;
// It takes one event in as many as its rate.
SLEY_HIDDEN extern contention_profile mutex_profile;

// The calling goroutine or thread has waited, and goes on. [inside]
void note_wait(std::int64_t delay_ns) noexcept;
// The same of a wait for a lock, whether the profiles are on or not: for the figure of all.
void count_lock_wait(std::int64_t delay_ns) noexcept;
// It has unlocked what others have waited for; `delay_ns` is the sum of their waits. [inside]
void note_unlock(std::int64_t delay_ns) noexcept;

}  // namespace sley::rt
