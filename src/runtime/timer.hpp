// Timers inside the runtime: something that is done at a time, on whatever machine finds it due.
//
// Each processor has a heap of them. Whoever looks for work runs the due ones of its own processor
// first; thieves run those of others in their last round; the machine that polls sleeps until the
// earliest. From Go's time.go.
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
// Of one heap, under one hold of its lock.
inline constexpr std::size_t most_fired_at_once = 64;

struct timer : parts::heap_place {
  // Called when due, with the heap's lock held: short, never parks, may take channel locks but no
  // other heap's. Returns a goroutine that is to be made runnable (one that waits, or a new one),
  // or null.
  goroutine* (*fire)(timer* t, std::int64_t now_ns) noexcept = nullptr;
  std::int64_t period_ns = 0;  // [lock: the heap's] 0: once
  // The heap that it is in, or was in last. A timer is changed only under the lock of the heap it
  // names, and once it has been added it names another only under both locks: see timer_hold.
  base::published<processor*> home;
};

// The timers of one processor.
struct timer_set {
  detail::lock lock{detail::lock_rank::timers};
  parts::timer_heap heap;  // [lock: lock]
  bool is_closed = false;  // [lock: lock] the processor is gone, and nobody looks here
  // The time of the first timer, `never` if there is none. Written under the lock; read without, by
  // the owner (a moment early or late does not matter) and by who is about to sleep: those have a
  // heavy barrier before (WG-1), as adding a timer is publishing work.
  detail::atomic<std::int64_t> first_ns{never};
};

// Arms a timer that is in no heap and that nobody else uses. False, and nothing happened, if there
// is no memory.
[[nodiscard]] bool add_timer(timer* t, std::int64_t when_ns) noexcept;

// The goroutine, which waits and is known to nobody else, is made ready then. False, and nothing
// happened, if there is no memory.
[[nodiscard]] bool add_sleeper(goroutine* g, std::int64_t when_ns) noexcept;

// Disarms it. True if it was armed. After it returns the timer's function is not running, nor will
// it.
bool remove_timer(timer* t) noexcept;

// For a timer's own function, if it could not do its work: arms it again in the heap that it came
// from.
void insert_again(timer* t, std::int64_t when_ns) noexcept;

// A processor goes: all its timers to the first one, which has to be looked at then. It is there
// again.
void close_timers(processor* p) noexcept;
void open_timers(processor* p) noexcept;

// Runs what is due on p's heap, reading the clock only if there are timers. True if anything ran.
bool run_due_timers(processor* p) noexcept;
// Those of all processors, by who is preempted: where all compute nobody else comes to them before
// their own one's slice is over, and who gets the processor of the one that is preempted looks for
// that goroutine first.
void run_all_due_timers() noexcept;

}  // namespace sley::rt
