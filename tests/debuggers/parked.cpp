// A program whose goroutines are known, for the tests here: 1,000 of them, with the same name and
// labels, wait in one function. It prints where that function is, and goes on when it gets a line.
// Then the goroutines add what they receive, and it prints the sum.
#include <sley/debug.hpp>
#include <sley/sley.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace {

constexpr int workers = 1000;

bool do_all_wait() {
  std::size_t waiting = 0;
  for (const auto& g : sley::debug::goroutine_profile()) {
    if (g.state == "chan receive") waiting += g.count;
  }
  return waiting == workers;
}

}  // namespace

[[gnu::noinline]] int waits_for_work(const sley::chan<int>& work) {
  int sum = 0;
  while (const auto part = work.receive()) sum += *part;
  asm volatile("" : "+r"(sum));  // the call above is not the last one
  return sum;
}

[[gnu::always_inline]] inline void says_where_it_is() {
  std::printf("%p\n", reinterpret_cast<void*>(&waits_for_work));
  std::fflush(stdout);
}

int main() {
  return sley::run([] {
    const sley::chan<int> work;
    const sley::chan<int> sums(workers);
    {
      const sley::debug::labels inherited{{"kind", "known"}, {"tenant", "a"}};
      for (int i = 0; i < workers; ++i) {
        sley::go({.name = "worker"}, [work, sums] { sums.send(waits_for_work(work)); });
      }
    }
    // The profile is made by a goroutine of its own, which may end a little later.
    while (!do_all_wait() || sley::runtime::num_goroutines() != workers + 1) {
      sley::this_goroutine::yield();
    }
    says_where_it_is();
    char byte = 0;
    sley::blocking([&] { return ::read(0, &byte, 1); });
    for (int i = 0; i < workers; ++i) work.send(i);
    work.close();
    int sum = 0;
    for (int i = 0; i < workers; ++i) sum += *sums.receive();
    std::printf("%d\n", sum);
  });
}
