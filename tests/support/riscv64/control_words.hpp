// The control word of floating point on riscv64.
#pragma once

#include <cstdint>

namespace sley_test {

struct control_words {
  std::uint64_t rounding;
  bool operator==(const control_words&) const = default;
};

// What a thread starts with, and what the tests set.
inline constexpr control_words default_control_words = {0};
inline constexpr control_words all_control_words[] = {
    default_control_words,
    {1},  // round to zero
    {2},  // round down
    {3},  // round up
    {4},  // round to nearest, ties away from zero
};

inline void set_control_words(control_words w) { asm volatile("fsrm %0" : : "r"(w.rounding)); }

inline control_words present_control_words() {
  control_words w;
  asm volatile("frrm %0" : "=r"(w.rounding));
  return w;
}

// No exception ever traps.
inline constexpr control_words trapping_control_words = {1};

inline void divide_by_zero() {
  asm volatile("fmv.d.x ft0, zero\n\tfdiv.d ft0, ft0, ft0" : : : "ft0");
}
inline void meet_pending_exceptions() {}

}  // namespace sley_test
