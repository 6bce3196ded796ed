// Timers inside the runtime: a function that is called at a given time, on the machine that finds
// the timer due.
//
// Each processor has a heap of timers. A machine that looks for work first runs the due timers of
// its own processor. A thief runs the due timers of other processors in its last round. The poller
// sleeps until the earliest timer. From Go's time.go.
#pragma once

#include "runtime/state/timer.hpp"

#include <cstdint>

namespace sley::rt {

struct goroutine;

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
