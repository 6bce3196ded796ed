// The seam for chance, time and preemption: every random choice, every reading of the clock and
// every decision to stop a goroutine that the scheduler, channels and timers make goes through
// here.
//
// In normal builds these vanish into what they stand for. The chaos build answers by a seed: it
// shuffles, ends time slices early and sends goroutines to other machines. A build that drives the
// whole runtime by a seed, with a clock of its own, replaces this header's other half.
#pragma once

#include "base/random.hpp"
#include "platform/os.hpp"

#include <cstdint>

namespace sley::platform {

#ifdef SLEY_CHAOS

std::uint64_t seed() noexcept;
bool ends_slice(bool is_over) noexcept;
bool stays_here() noexcept;

#else

// What random generators start from.
inline std::uint64_t seed() noexcept { return static_cast<std::uint64_t>(monotonic_ns()); }

// Is the goroutine that would run next, in a time slice that is over or not, sent behind everybody?
inline bool ends_slice(bool is_over) noexcept { return is_over; }

// Does a goroutine that became runnable stay with the processor that made it so?
inline bool stays_here() noexcept { return true; }

#endif

// The scheduler's clock.
inline std::int64_t now_ns() noexcept { return monotonic_ns(); }

// A random number: all of its bits, or one below `bound`.
inline std::uint32_t draw(base::random& generator) noexcept { return generator.next(); }
inline std::uint32_t draw_below(base::random& generator, std::uint32_t bound) noexcept {
  return generator.below(bound);
}

}  // namespace sley::platform
