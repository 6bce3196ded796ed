// Actions of tests on their own thread, and facts about threads.
#pragma once

#include "support/conditions.hpp"

#include <chrono>
#include <cstdint>
#include <functional>

#include <sys/types.h>

namespace sley_test {

// Computes for at least this long, without a call of the library.
void compute_for(std::chrono::nanoseconds d);

// Something to compute, each step of which needs all bits of the one before.
inline std::uint64_t xorshift(std::uint64_t x, int steps) {
  for (int i = 0; i < steps; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
  }
  return x;
}

// Computes until the predicate holds. False if it does not within the limit.
template <class Predicate>
[[nodiscard]] bool spin_until(Predicate predicate, std::chrono::nanoseconds limit = patience) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

// One call that blocks the thread for at least this long and leaves errno alone. False if a signal
// ended it early.
bool sleep_in_the_kernel(std::chrono::nanoseconds d);

// The thread's errno. Not inlined: compilers remember where errno is, and a goroutine may be on
// another thread by then.
[[gnu::noinline]] int get_errno();
[[gnu::noinline]] void set_errno(int error);

// The number of this process's threads, and whether one of them has this number.
int threads_of_process();
bool thread_exists(pid_t tid);

// What a thread does at its very end, when its thread_locals are destroyed.
struct farewell {
  std::function<void()> words;
  ~farewell() {
    if (words) words();
  }
};
inline thread_local farewell at_thread_end;

}  // namespace sley_test
