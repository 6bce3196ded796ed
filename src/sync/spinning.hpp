// Whether a goroutine that finds a mutex locked should wait for a moment where it is, and for how
// long. A seam: in models every pause would be one more place to go on elsewhere.
#pragma once

#include "runtime/state/sched_state.hpp"

namespace sley::sync {

// A critical section is over in this time if it is worth spinning for.
inline constexpr int spins = 4;
inline constexpr int pauses_a_spin = 30;

// True if another processor is busy, perhaps with the holder, and no goroutine waits for this one.
inline bool can_spin() noexcept {
  const rt::processor* p = rt::current_machine()->p;
  if (p == nullptr || rt::has_local_work(p)) return false;
  const std::uint32_t resting = rt::sched.gate.idle() + rt::sched.gate.searching();
  return resting + 1 < rt::sched.procs.read_relaxed();
}

}  // namespace sley::sync
