// The control register of floating point on riscv64: see platform/context.hpp.
#pragma once

#include <cstdint>

namespace sley::platform {

// The rounding mode. The flags of what happened are beside it, in fcsr, and no call keeps them, so
// neither does a switch.
struct floating_point_control {
  std::uint64_t rounding = 0;
};

// Round to nearest.
inline constexpr floating_point_control default_control{};

[[gnu::always_inline]] inline void read_control(floating_point_control& now) noexcept {
  asm volatile("frrm %0" : "=r"(now.rounding));
}

// Comparing costs less than writing. No exception ever traps, so the flags may stay.
[[gnu::always_inline]] inline void change_control(const floating_point_control& now,
                                                  const floating_point_control& wanted) noexcept {
  if (__builtin_expect(now.rounding != wanted.rounding, 0)) {
    asm volatile("fsrm %0" : : "r"(wanted.rounding));
  }
}

}  // namespace sley::platform
