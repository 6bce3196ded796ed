// A timer inside the runtime and the heap that holds it; runtime/source/timers.hpp has what is done
// with them.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/published.hpp"
#include "parts/timer_heap.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::rt {

struct goroutine;
struct processor;

inline constexpr std::int64_t never = INT64_MAX;
// The most timers of one heap that fire under one hold of its lock.
inline constexpr std::size_t most_fired_at_once = 64;

struct timer : parts::heap_place {
  // Called when due, with the heap's lock held. It must be short and must not park. It may take
  // channel locks but no other heap's lock. Returns a waiting or new goroutine that must be made
  // runnable, or null.
  goroutine* (*fire)(timer* t, std::int64_t now_ns) noexcept = nullptr;
  std::int64_t period_ns = 0;  // [lock: the heap's] 0: once
  // The heap that holds the timer, or held it last. A timer is changed only under the lock of its
  // home heap. Once it was added, it gets another home only under both locks: see timer_hold.
  base::published<processor*> home;
};

// The timers of one processor.
struct timer_set {
  detail::lock lock{detail::lock_rank::timers};
  parts::timer_heap heap;  // [lock: lock]
  bool is_closed = false;  // [lock: lock] the processor is gone, and no machine looks here
  // The time of the first timer, `never` if there is none. Written under the lock. The owner reads
  // it without the lock, because a moment early or late does not matter. A machine that is about to
  // sleep reads it after a heavy barrier (WG-1), because adding a timer is publishing work.
  detail::atomic<std::int64_t> first_ns{never};
};

}  // namespace sley::rt
