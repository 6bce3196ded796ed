// Instructions that trap on riscv64.
#pragma once

namespace sley_test {

// Whether a division of integers by zero ends in SIGFPE.
inline constexpr bool divisions_by_zero_trap = false;

}  // namespace sley_test

// Ends in SIGILL. An inlined function would be a frame of its own in a dump.
#define SLEY_TEST_EXECUTE_NO_INSTRUCTION() asm volatile("unimp")
