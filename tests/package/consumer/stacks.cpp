// Goroutines that wait in turn on stacks of both kinds, with memory on each that the next one looks
// at: a tool that does not know of the stacks takes it for memory below a stack pointer.
#include <sley/sley.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

int sum_over_stacks(int depth) {
  if (depth == 0) return 0;
  std::array<int, 1000> numbers;
  std::iota(numbers.begin(), numbers.end(), depth);
  sley::chan<int> result;
  const sley::go_options options{.stack_size = depth % 2 == 0 ? 0U : 512U << 10};
  sley::go(options, [&numbers, result, depth] {
    sley::this_goroutine::yield();
    result.send(numbers[999] + sum_over_stacks(depth - 1));
  });
  return *result.receive() - numbers[0] - 999;
}

}  // namespace

int main() {
  return sley::run([] {
    if (sum_over_stacks(20) != 0) std::abort();
    std::puts("hello from the installed sley");
  });
}
