// The seam for chance, time and preemption: every random choice, every reading of the clock and
// every decision to stop a goroutine that the scheduler, channels and timers make goes through
// here.
//
// In normal builds these functions are inlined and cost nothing. The chaos build answers by a seed:
// it shuffles, ends time slices early, sends goroutines to other machines, takes processors from
// calls that have just begun, keeps processors in reserve, moves descriptors to other watch sets,
// lets calls be made together and wakes threads for nothing. The simulation (platform/simulated)
// decides everything by its plan, and has a clock of its own.
#pragma once

#include "base/random.hpp"
#include "platform/os.hpp"

#include <cstdint>

namespace sley::platform {

// A simulation's questions to the runtime about the thread that it plays.
struct runtime_view {
  bool (*is_in_user_code)() noexcept = nullptr;
  std::uint64_t (*goroutine)() noexcept = nullptr;  // its id; 0: none
  void (*end_slice)() noexcept = nullptr;           // at its next entrance into the runtime
};

#if defined(SLEY_CHAOS) || defined(SLEY_SIMULATION)

std::uint64_t seed() noexcept;
bool ends_slice(bool is_over) noexcept;
bool stays_here() noexcept;
bool stays_in_call() noexcept;
bool joins_others(bool pays) noexcept;
bool wakes_for_nothing() noexcept;
std::uint32_t kept_in_reserve(std::uint32_t wanted, std::uint32_t procs) noexcept;
std::uint32_t watched_in(std::uint32_t wanted, std::uint32_t sets) noexcept;
bool is_due(std::uint32_t time, std::uint32_t period) noexcept;

#else

// The first state of random generators.
inline std::uint64_t seed() noexcept { return static_cast<std::uint64_t>(monotonic_ns()); }

// Is the next goroutine, in a time slice that is over or not, sent behind all the others?
inline bool ends_slice(bool is_over) noexcept { return is_over; }

// Does a goroutine that became runnable stay with the processor that made it so?
inline bool stays_here() noexcept { return true; }

// Does a processor stay for a while with a machine that is in an announced call?
inline bool stays_in_call() noexcept { return true; }

// Is a call made together with others, which pays or not?
inline bool joins_others(bool pays) noexcept { return pays; }

// Does a thread that would sleep on a futex come back at once?
inline bool wakes_for_nothing() noexcept { return false; }

// The number of processors kept in reserve, of `procs`, if `wanted` should be.
inline std::uint32_t kept_in_reserve(std::uint32_t wanted, std::uint32_t) noexcept {
  return wanted;
}

// The watch set, of `sets`, in which a descriptor is watched from now on, if `wanted` should be it.
inline std::uint32_t watched_in(std::uint32_t wanted, std::uint32_t) noexcept { return wanted; }

// Is something that is done once every `period` times done at this time?
inline bool is_due(std::uint32_t time, std::uint32_t period) noexcept { return time % period == 0; }

#endif

#ifdef SLEY_SIMULATION
void show_runtime(const runtime_view& view) noexcept;
#else
inline void show_runtime(const runtime_view&) noexcept {}
#endif

// The scheduler's clock.
inline std::int64_t now_ns() noexcept { return monotonic_ns(); }

// A random number: all of its bits, or one below `bound`.
inline std::uint32_t draw(base::random& generator) noexcept { return generator.next(); }
#ifdef SLEY_SIMULATION
std::uint32_t draw_below(base::random& generator, std::uint32_t bound) noexcept;
#else
inline std::uint32_t draw_below(base::random& generator, std::uint32_t bound) noexcept {
  return generator.below(bound);
}
#endif

}  // namespace sley::platform
