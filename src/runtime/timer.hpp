// Timers inside the runtime: a function that is called at a given time, on the machine that finds
// the timer due.
//
// Each processor has a heap of timers. A machine that looks for work first runs the due timers of
// its own processor. A thief runs the due timers of other processors in its last round. The poller
// sleeps until the earliest timer. From Go's time.go.
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

// Arms a timer that is in no heap and that no other thread uses. False if there is no memory;
// nothing has happened then.
[[nodiscard]] bool add_timer(timer* t, std::int64_t when_ns) noexcept;

// Makes g ready at that time. g waits, and no other waker knows it. False if there is no memory;
// nothing has happened then.
[[nodiscard]] bool add_sleeper(goroutine* g, std::int64_t when_ns) noexcept;

// Disarms the timer. True if it was armed. When this returns, the timer's function neither runs nor
// will run.
bool remove_timer(timer* t) noexcept;

// For a timer's own function, if it could not do its work: arms the timer again in its heap.
void insert_again(timer* t, std::int64_t when_ns) noexcept;

// p goes: moves its timers to the first processor, which must be looked at afterwards.
void close_timers(processor* p) noexcept;
// p is in use again.
void open_timers(processor* p) noexcept;

// Fires the due timers of p. Reads the clock only if p has timers. True if any timer fired.
bool run_due_timers(processor* p) noexcept;
// Fires the due timers of all processors. A preempted goroutine's machine calls it, because where
// all goroutines compute no other machine gets to the timers before its own slice ends.
void run_all_due_timers() noexcept;

}  // namespace sley::rt
