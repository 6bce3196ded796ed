// Measures how long goroutines that can run wait for a processor, and how long they keep it. From
// Go's gTrackingPeriod, which has the first of the two.
//
// One switch of a processor in schedsample is measured, by chance, because a program may do the
// same at every second or every hundredth switch. At that switch the goroutine that leaves the
// processor is marked, by `timed` in goroutine::needs. From then on the paths find it that look at
// `needs` anyway: where it becomes runnable it gets a stamp, and where it runs again its wait is
// counted. A goroutine that yields has its stamp at once, because it stays runnable. The goroutine
// that takes the processor at that switch has its run measured, until it leaves the processor for
// another goroutine, or loses it. So a switch that is not measured pays for one comparison, and
// ready() for nothing.
//
// Rejected: a goroutine's own count of its switches, as Go has it, because that is one more store
// at each switch; and marks by the waker, because each ready() and yield() would pay a comparison.
//
// All functions: [inside] by the holder of the processor, or the thread that has it in hand.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/random.hpp"
#include "parts/time_histogram.hpp"
#include "runtime/state/departure.hpp"

#include <cstdint>

namespace sley::rt {

struct goroutine;
struct machine;
struct processor;

// A processor's. All but the histograms: [owner]
struct sched_meter {
  // There is something to do at the switch with this number; while a trace is on, at each.
  std::uint64_t next_look = 0;
  std::uint64_t next_measured = 0;  // the number of the next switch that is measured
  std::uint64_t next_spawned = 0;   // the same two, for goroutines that are started
  std::uint64_t next_measured_spawn = 0;
  std::int64_t run_began_ns = 0;  // of the present goroutine, if its run is measured; else 0
  base::random random;
  parts::time_histogram waits;  // from runnable to running
  parts::time_histogram runs;   // from getting the processor to leaving it
};

// Of a new processor.
void start_meter(processor* p) noexcept;

// ---- the rare cases, in sched_meter.cpp ----

// This switch is measured, or ends a run that is, or is traced. The goroutine that runs on `m`
// loses the processor by it; null: none does.
void look_at_switch(processor* p, const machine* m, goroutine* next, departure how) noexcept;
// The same, of a goroutine that loses it before another one gets it. Null: it has ended.
void look_at_leave(processor* p, goroutine* leaving, departure how) noexcept;
// This start of a goroutine is measured, or traced.
void look_at_spawn(processor* p, goroutine* started) noexcept;
// A marked goroutine is runnable from now on.
void begin_measured_wait(goroutine* g) noexcept;
// A marked goroutine runs. Without a processor its wait is not counted.
void end_measured_wait(processor* p, goroutine* g) noexcept;
// The goroutine has lost the processor otherwise than by a switch.
void end_measured_run(processor* p) noexcept;
// A goroutine without a processor waits for one.
void leave_without_p(machine* m, goroutine* g) noexcept;

}  // namespace sley::rt
