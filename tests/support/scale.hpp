// What the tests with very many goroutines share.
#pragma once

#include "support/harness.hpp"
#include "support/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>

namespace sley_test {

#ifdef SLEY_DEBUG_CHECKS
inline constexpr bool has_checks = true;
#else
inline constexpr bool has_checks = false;
#endif

// Before Linux 6.13 each guard costs two of the mappings that a process may have.
inline bool has_cheap_guards() {
  constexpr int guard_install = 102;  // MADV_GUARD_INSTALL
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool works = page != MAP_FAILED && madvise(page, 4096, guard_install) == 0;
  if (page != MAP_FAILED) munmap(page, 4096);
  return works;
}

// Sanitizers keep records of their own for each stack, and are slow. (TSan has room for 100,000
// fibers at most, ASan wants a shadow of each stack.) The optimised build of `./dev check` has as
// many as wanted; with internal checks a tenth of a million does.
inline int at_most(int wanted) {
  int most = under_sanitizer ? 20000 : has_checks ? 100000 : wanted;
  if (!has_cheap_guards()) most = std::min(most, 20000);
  return std::min(wanted, most);
}

// Touches so many pages of stack, and returns their number.
[[gnu::noinline]] inline int use_stack(int pages) {
  volatile char page[4096];
  page[0] = 1;
  page[4095] = 1;
  if (pages == 0) return 0;
  return use_stack(pages - 1) + page[4095];
}

inline void print_memory(const char* when) {
  const auto stats = sley::runtime::read_stats();
  std::printf("%-22s %6zu MiB resident, %llu goroutines, %llu stacks, %llu MiB reserved for them\n",
              when, resident_memory() >> 20, static_cast<unsigned long long>(stats.goroutines),
              static_cast<unsigned long long>(stats.stacks),
              static_cast<unsigned long long>(stats.stack_bytes_reserved >> 20));
}

}  // namespace sley_test
