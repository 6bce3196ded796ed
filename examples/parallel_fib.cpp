// Parallel Fibonacci: async starts a goroutine with a result, and get() parks until it is there.
//
// One half of the work goes to a new goroutine, the other is done here; idle processors steal what
// waits in the queues. Below the cut-off a plain function is faster than starting goroutines.
#include <sley/sley.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

unsigned long parallel_fib(unsigned n) {
  constexpr unsigned cut_off = 18;
  if (n < cut_off) return fib(n);
  sley::future<unsigned long> other_half = sley::async(parallel_fib, n - 1);
  const unsigned long this_half = parallel_fib(n - 2);
  return this_half + other_half.get();
}

unsigned long checked_fib(unsigned n) {
  if (n > 93) throw std::overflow_error("fib(" + std::to_string(n) + ") needs more than 64 bits");
  return parallel_fib(n);
}

int main() {
  return sley::run([] {
    for (const unsigned n : {1U, 10U, 20U, 30U}) {
      std::printf("fib(%u) = %lu\n", n, sley::async(checked_fib, n).get());
    }
    // An exception travels through the future as well.
    try {
      sley::async(checked_fib, 100U).get();
    } catch (const std::overflow_error& e) {
      std::printf("no answer: %s\n", e.what());
    }
  });
}
