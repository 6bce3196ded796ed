// The control word of floating point on aarch64.
#pragma once

#include <cstdint>

namespace sley_test {

struct control_words {
  std::uint64_t fpcr;
  bool operator==(const control_words&) const = default;
};

// What a thread starts with, and what the tests set: bits that every CPU has.
inline constexpr control_words default_control_words = {0};
inline constexpr control_words all_control_words[] = {
    default_control_words,
    {1U << 22},             // round up
    {2U << 22},             // round down
    {3U << 22},             // round to zero
    {1U << 24},             // flush to zero
    {1U << 25},             // every NaN is the default one
    {1U << 26},             // another form of half precision
    {1U << 24 | 2U << 22},  // two of them
};

inline void set_control_words(control_words w) { asm volatile("msr fpcr, %0" : : "r"(w.fpcr)); }

inline control_words present_control_words() {
  control_words w;
  asm volatile("mrs %0, fpcr" : "=r"(w.fpcr));
  return w;
}

// With these a division by zero traps, if the CPU can. Most have no such bit.
inline constexpr control_words trapping_control_words = {1U << 9};

inline void divide_by_zero() {
  asm volatile("fmov d0, #1.0\n\tmovi d1, #0\n\tfdiv d0, d0, d1" : : : "d0", "d1");
}
// An exception is never pending: it traps at its instruction.
inline void meet_pending_exceptions() {}

}  // namespace sley_test
