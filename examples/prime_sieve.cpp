// Prime sieve: a chain of goroutines, one for each prime, that grows as primes are found.
//
// Every filter passes on what its prime does not divide, so whatever comes out at the end of the
// chain is the next prime. An old classic of this style: not a fast way to find primes, but a good
// load for a scheduler. The filters are still waiting when the main goroutine returns; the program
// ends all the same.
#include <sley/sley.hpp>

#include <cstdio>
#include <utility>

sley::recv_chan<int> count_from_two() {
  sley::chan<int> out;
  sley::go([out] {
    for (int n = 2;; ++n) out.send(n);
  });
  return out;
}

sley::recv_chan<int> without_multiples_of(int prime, sley::recv_chan<int> in) {
  sley::chan<int> out;
  sley::go([prime, in = std::move(in), out] {
    for (const int n : in) {
      if (n % prime != 0) out.send(n);
    }
  });
  return out;
}

int main() {
  return sley::run([] {
    sley::recv_chan<int> candidates = count_from_two();
    for (int i = 1; i <= 100; ++i) {
      const int prime = *candidates.receive();
      std::printf("%4d%s", prime, i % 10 == 0 ? "\n" : "");
      candidates = without_multiples_of(prime, candidates);
    }
  });
}
