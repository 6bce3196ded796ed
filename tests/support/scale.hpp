// Shared by the tests with very many goroutines.
#pragma once

#include "support/harness.hpp"
#include "support/memory.hpp"

#include <algorithm>
#include <cstdio>

namespace sley_test {

#ifdef SLEY_DEBUG_CHECKS
inline constexpr bool has_checks = true;
#else
inline constexpr bool has_checks = false;
#endif

// Sanitizers keep records of their own for each stack, and are slow. (TSan has room for 100,000
// fibers at most, ASan wants a shadow of each stack.) The optimised build of `./dev check` has as
// many as wanted; with internal checks a tenth of a million does.
inline int at_most(int wanted) {
  return std::min(wanted, under_sanitizer ? 20000 : has_checks ? 100000 : wanted);
}

// Touches `pages` pages of stack, and returns their number.
[[gnu::noinline]] inline int use_stack(int pages) {
  volatile char page[4096];
  page[0] = 1;
  page[4095] = 1;
  if (pages == 0) return 0;
  const int below = use_stack(pages - 1);
  asm volatile(""
               :
               : "r"(page)
               : "memory");  // the frame is in use up to here: no loop in its place
  return below + page[4095];
}

inline void print_memory(const char* when) {
  const auto stats = sley::runtime::read_stats();
  std::printf("%-22s %6zu MiB resident, %llu goroutines, %llu stacks, %llu MiB reserved for them\n",
              when, resident_memory() >> 20, static_cast<unsigned long long>(stats.goroutines),
              static_cast<unsigned long long>(stats.stacks),
              static_cast<unsigned long long>(stats.stack_bytes_reserved >> 20));
}

}  // namespace sley_test
