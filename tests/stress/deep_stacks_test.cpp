// Very many goroutines parked on stacks that they have used: 64 KiB each, most of it dead by the
// time they park. A program of its own, because its memory is not given back before its end.
#include "support/scale.hpp"

#include <atomic>
#include <chrono>

using sley::chan;
using sley_test::as_many_as_fit;
using sley_test::at_most;
using sley_test::eventually;
using sley_test::has_checks;
using sley_test::print_memory;
using sley_test::use_stack;
using namespace std::chrono_literals;

namespace {

// Parks `count` goroutines that have used 64 KiB of stack each, and lets them go.
void park_on_deep_stacks(int count) {
  chan<void> release;
  std::atomic<int> arrived{0};
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&, release] {
      EXPECT_EQ(use_stack(15), 15);
      arrived.fetch_add(1, std::memory_order_relaxed);
      release.receive();
      EXPECT_EQ(use_stack(15), 15);
    });
  }
  EXPECT_TRUE(eventually([&] { return arrived == count; })) << arrived << " of " << count;
  print_memory("parked on 64 KiB each");
  release.close();
  group.wait();
  print_memory("all returned");
}

}  // namespace

GO_TEST(deep_stacks, a_hundred_thousand_used_stacks_serve_the_next_goroutines_as_well) {
  const int count = as_many_as_fit(at_most(has_checks ? 20000 : 100000), 80 << 10);
  park_on_deep_stacks(count);
  const auto reserved = sley::runtime::read_stats().stack_bytes_reserved;
  park_on_deep_stacks(count);
  EXPECT_LE(sley::runtime::read_stats().stack_bytes_reserved, reserved + reserved / 10);
}
