// Single instructions of x86-64: see platform/cpu.hpp.
#pragma once

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::platform {

inline constexpr std::size_t cache_line_bytes = 64;

inline constexpr kernel_release membarrier_works_since{};

inline constexpr std::size_t frame_record_below = 0;

[[gnu::always_inline]] inline void pause_cpu() noexcept { __builtin_ia32_pause(); }

[[gnu::always_inline]] inline void speculation_barrier() noexcept { __builtin_ia32_lfence(); }

[[gnu::always_inline]] inline std::uint64_t read_cycle_counter() noexcept {
  return __builtin_ia32_rdtsc();
}

// Most counters run at 2 to 4 GHz.
[[gnu::always_inline]] inline std::uint64_t counter_ticks(std::uint64_t ns) noexcept {
  return ns * 5 / 2;
}

[[gnu::always_inline]] inline void load_byte(const void* place) noexcept {
  asm volatile("movb (%0), %%al" : : "r"(place) : "al");
}

[[gnu::always_inline]] inline std::uint64_t load_word(std::uint64_t address) noexcept {
  std::uint64_t word;
  asm volatile("movq (%1), %0" : "=r"(word) : "r"(address) : "memory");
  return word;
}

}  // namespace sley::platform
