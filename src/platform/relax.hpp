// What a thread does between two looks at a word that another thread is about to change.
#pragma once

#include <sley/detail/schedule_point.hpp>

#include "platform/cpu.hpp"

namespace sley::platform {

// Lets that many of the CPU's pauses pass. The thread that works on the word loses its cache line
// by each look of another. So a look that comes next in the program begins when the pauses are
// over, and not before, for nothing: a CPU that wrongly guesses that a loop has ended begins what
// stands behind it. (A Zen 5 did so in each round of some loops, by their addresses.)
[[gnu::always_inline]] inline void cpu_relax(int pauses) noexcept {
  for (; pauses > 0; --pauses) {
    detail::relax_point();
    pause_cpu();
  }
  speculation_barrier();
}

}  // namespace sley::platform
