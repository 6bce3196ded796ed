// The control words of floating point on x86-64.
#pragma once

#include <cstdint>

namespace sley_test {

struct control_words {
  std::uint32_t mxcsr;
  std::uint16_t x87;
  bool operator==(const control_words&) const = default;
};

// What a thread starts with, and what the tests set.
inline constexpr control_words default_control_words = {0x1f80, 0x037f};
inline constexpr control_words all_control_words[] = {
    default_control_words, {0x3f80, 0x037f},  // MXCSR alone: round down
    {0x9fc0, 0x037f},                         // flush to zero, denormals are zero
    {0x1d80, 0x037f},                         // a division by zero traps
    {0x1f80, 0x007f},                         // x87 alone: single precision
    {0x1f80, 0x0b7f},                         // round up
    {0x1d80, 0x037b},                         // both: a division by zero traps
    {0x7f80, 0x0f7f},                         // round to zero
};

inline void set_control_words(control_words w) {
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(w.mxcsr), "m"(w.x87));
}

// Without the exception flags, which are not control.
inline control_words present_control_words() {
  control_words w;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(w.mxcsr), "=m"(w.x87));
  w.mxcsr &= ~0x3fU;
  return w;
}

// With these a division by zero traps, if the CPU can.
inline constexpr control_words trapping_control_words = {0x1f80, 0x037b};

// As the compiler would: x87 instructions, each of which traps if an exception is pending and
// unmasked.
inline void divide_by_zero() {
  asm volatile("fld1\n\tfldz\n\tfdivrp\n\tfstp %%st(0)\n\tfwait" : :);
}
inline void meet_pending_exceptions() { asm volatile("fwait"); }

}  // namespace sley_test
