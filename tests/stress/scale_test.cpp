// Very many goroutines at once: that they fit, that each of them runs, and that what they used is
// there for the next ones.
#include "support/scale.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>

using sley::chan;
using sley_test::as_many_as_fit;
using sley_test::at_most;
using sley_test::eventually;
using sley_test::print_memory;
using sley_test::resident_memory;
using sley_test::under_chaos;
using sley_test::use_stack;
using namespace std::chrono_literals;

GO_TEST(scale, a_million_goroutines_are_parked_at_once_and_all_return) {
  // A page of stack, its share of the page tables, the goroutine's record.
  const int count = as_many_as_fit(at_most(1000000), 9 << 10);
  print_memory("before");
  chan<void> release;
  std::atomic<int> arrived{0};
  std::atomic<int> returned{0};
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&, release] {
      arrived.fetch_add(1, std::memory_order_relaxed);
      release.receive();
      returned.fetch_add(1, std::memory_order_relaxed);
    });
  }
  EXPECT_TRUE(eventually([&] { return arrived == count; })) << arrived << " of " << count;
  EXPECT_EQ(returned, 0);
  EXPECT_GE(sley::runtime::num_goroutines(), static_cast<std::size_t>(count));
  print_memory("all parked");
  release.close();
  group.wait();
  EXPECT_EQ(returned, count);
  print_memory("all returned");
}

// A goroutine that has not run yet is only a record.
GO_TEST(scale, a_million_goroutines_are_started_before_one_of_them_runs) {
  const int count = as_many_as_fit(at_most(1000000), 9 << 10);
  std::atomic<int> ran{0};
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
  }
  group.wait();
  EXPECT_EQ(ran, count);
  print_memory("all returned");
}

// Waves of goroutines that come and go: nothing may grow from wave to wave.
GO_TEST(scale, waves_of_goroutines_leave_no_memory_behind) {
  const int count = at_most(50000) / (under_chaos ? 10 : 1);
  std::size_t after_first = 0;
  for (int wave = 0; wave < 10; ++wave) {
    sley::wait_group group;
    for (int i = 0; i < count; ++i) {
      group.go([] {
        sley::this_goroutine::yield();
        EXPECT_EQ(use_stack(2), 2);
      });
    }
    group.wait();
    if (wave == 2) after_first = resident_memory();
  }
  EXPECT_LE(resident_memory(), after_first + after_first / 2 + (64 << 20));
}
