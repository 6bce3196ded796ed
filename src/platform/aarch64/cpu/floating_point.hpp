// The control register of floating point on aarch64: see platform/context.hpp.
#pragma once

#include <cstdint>

namespace sley::platform {

// FPCR has control bits alone. The flags of what happened are in FPSR, which no call keeps
// (AAPCS64), so neither does a switch.
struct floating_point_control {
  std::uint64_t fpcr = 0;
};

// Round to nearest, no exception traps.
inline constexpr floating_point_control default_control{};

[[gnu::always_inline]] inline void read_control(floating_point_control& now) noexcept {
  asm volatile("mrs %0, fpcr" : "=r"(now.fpcr));
}

// Comparing costs less than writing. An exception traps at the instruction that raises it, never
// later, so the flags may stay.
[[gnu::always_inline]] inline void change_control(const floating_point_control& now,
                                                  const floating_point_control& wanted) noexcept {
  if (__builtin_expect(now.fpcr != wanted.fpcr, 0)) {
    asm volatile("msr fpcr, %0" : : "r"(wanted.fpcr));
  }
}

}  // namespace sley::platform
