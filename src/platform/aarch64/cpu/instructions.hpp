// Single instructions of aarch64: see platform/cpu.hpp.
#pragma once

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::platform {

// Of Neoverse and Cortex-A; where it is 128 (Apple's), two neighbours disturb each other.
inline constexpr std::size_t cache_line_bytes = 64;

inline constexpr kernel_release membarrier_works_since{};

inline constexpr std::size_t frame_record_below = 0;

// `yield` does nothing on most cores. `isb` waits until all instructions before it are done, some
// tens of nanoseconds.
[[gnu::always_inline]] inline void pause_cpu() noexcept { asm volatile("isb" ::: "memory"); }

[[gnu::always_inline]] inline void speculation_barrier() noexcept {
  asm volatile("isb" ::: "memory");
}

// The virtual counter. Reading it waits for nothing: it may be read early, by a few instructions.
[[gnu::always_inline]] inline std::uint64_t read_cycle_counter() noexcept {
  std::uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

// The counter runs at 24 MHz to 1 GHz. The firmware has written its frequency to a register.
[[gnu::always_inline]] inline std::uint64_t counter_ticks(std::uint64_t ns) noexcept {
  std::uint64_t ticks_a_second;
  asm("mrs %0, cntfrq_el0" : "=r"(ticks_a_second));
  return ns * ticks_a_second / 1'000'000'000;
}

[[gnu::always_inline]] inline void load_byte(const void* place) noexcept {
  asm volatile("ldrb wzr, [%0]" : : "r"(place));
}

[[gnu::always_inline]] inline std::uint64_t load_word(std::uint64_t address) noexcept {
  std::uint64_t word;
  asm volatile("ldr %0, [%1]" : "=r"(word) : "r"(address) : "memory");
  return word;
}

}  // namespace sley::platform
