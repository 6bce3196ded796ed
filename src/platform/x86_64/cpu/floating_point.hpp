// The control words of floating point on x86-64: see platform/context.hpp.
#pragma once

#include <cstdint>

namespace sley::platform {

// The low bits of MXCSR are flags of what happened: no call keeps them (System V ABI), so neither
// does a switch.
struct floating_point_control {
  std::uint32_t mxcsr = 0;
  std::uint16_t x87_control = 0;
};

// Round to nearest, all exceptions masked.
inline constexpr floating_point_control default_control{0x1f80, 0x037f};

// User code changes each of the words with one instruction that nothing else shows, so both are
// read at every switch.
[[gnu::always_inline]] inline void read_control(floating_point_control& now) noexcept {
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(now.mxcsr), "=m"(now.x87_control));
}

// Comparing costs less than loading, and the words hardly ever differ. On the rare way the x87
// flags are cleared, because a flag of another goroutine would trap at the next instruction where
// `wanted` unmasks it.
[[gnu::always_inline]] inline void change_control(const floating_point_control& now,
                                                  const floating_point_control& wanted) noexcept {
  constexpr std::uint32_t mxcsr_flags = 0x3f;
  // As volatile: side by side they would be compared with one load, which no CPU forwards from the
  // two stores of read_control().
  const volatile std::uint32_t& mxcsr = now.mxcsr;
  const volatile std::uint16_t& x87_control = now.x87_control;
  if (__builtin_expect(((mxcsr ^ wanted.mxcsr) & ~mxcsr_flags) != 0, 0) ||
      __builtin_expect(x87_control != wanted.x87_control, 0)) {
    asm volatile("ldmxcsr %0\n\tfnclex\n\tfldcw %1" : : "m"(wanted.mxcsr), "m"(wanted.x87_control));
  }
}

}  // namespace sley::platform
