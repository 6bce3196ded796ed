// What a thread does between two looks at a word that another thread is about to change.
#pragma once

#include <sley/detail/schedule_point.hpp>

#include "platform/cpu.hpp"

namespace sley::platform {

// Waits for that many of the CPU's pauses. Each look at the word takes its cache line away from the
// thread that works on it. So no look that follows in the program begins before the pauses are
// over, not even by speculation. (A Zen 5 predicted the end of such a loop in each of its rounds
// and began the look behind it, if the loop stood at the end of a cache line.)
[[gnu::always_inline]] inline void cpu_relax(int pauses) noexcept {
  for (; pauses > 0; --pauses) {
    detail::relax_point();
    pause_cpu();
  }
  speculation_barrier();
}

}  // namespace sley::platform
