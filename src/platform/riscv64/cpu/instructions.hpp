// Single instructions of riscv64: see platform/cpu.hpp.
#pragma once

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace sley::platform {

inline constexpr std::size_t cache_line_bytes = 64;

// Older kernels do not have the barrier where they switch to another process's thread (Linux commit
// d6cfd1770f20), so that a thread may run on without any.
inline constexpr kernel_release membarrier_works_since{6, 9};

// The frame's address is that of the end of the caller's frame.
inline constexpr std::size_t frame_record_below = 16;

// `pause`, which CPUs without it take for a fence that orders nothing. Older assemblers do not know
// its name.
[[gnu::always_inline]] inline void pause_cpu() noexcept {
  asm volatile(".4byte 0x0100000f" ::: "memory");
}

[[gnu::always_inline]] inline void speculation_barrier() noexcept {}

// The CPU's own counter, `rdtime`, runs at 1 MHz to 1 GHz, and nothing that every kernel has tells
// how fast. The vDSO knows.
inline std::uint64_t read_cycle_counter() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

[[gnu::always_inline]] inline std::uint64_t counter_ticks(std::uint64_t ns) noexcept { return ns; }

[[gnu::always_inline]] inline void load_byte(const void* place) noexcept {
  asm volatile("lbu zero, 0(%0)" : : "r"(place));
}

[[gnu::always_inline]] inline std::uint64_t load_word(std::uint64_t address) noexcept {
  std::uint64_t word;
  asm volatile("ld %0, 0(%1)" : "=r"(word) : "r"(address) : "memory");
  return word;
}

}  // namespace sley::platform
