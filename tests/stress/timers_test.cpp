// Very many timers at once, in a process of their own: what else has been in memory goes back to
// the kernel while this one counts.
#include "support/scale.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

using sley_test::as_many_as_fit;
using sley_test::print_memory;
using sley_test::resident_memory;
using sley_test::under_sanitizer;
using namespace std::chrono_literals;

// The few that are due among a million that are not fire in time and in order, and each of the
// million is stopped before it fires.
GO_TEST(timers, a_million_timers_are_armed_at_once) {
  const int count = as_many_as_fit(under_sanitizer ? 100000 : 1000000, 256);
  const std::size_t before = resident_memory();
  std::atomic<int> fired{0};
  std::vector<sley::timer> late;
  late.reserve(static_cast<std::size_t>(count));
  sley_test::random_source random;
  for (int i = 0; i < count; ++i) {
    const auto delay = 1h + std::chrono::nanoseconds(random.below(1'000'000'000));
    late.push_back(sley::after_func(delay, [&fired] { ++fired; }));
  }
  print_memory("all armed");
  if (!under_sanitizer) {
    EXPECT_LE(resident_memory(), before + static_cast<std::size_t>(count) * 256 + (16 << 20));
  }
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; i <= 100; ++i) {
    const auto at = sley::after(std::chrono::milliseconds(i % 10)).receive();
    EXPECT_GE(*at - start, std::chrono::milliseconds(i % 10));
  }
  for (std::size_t i = 0; i < late.size(); i += 2) EXPECT_TRUE(late[i].reset(2h));
  for (sley::timer& t : late) EXPECT_TRUE(t.stop());
  EXPECT_EQ(fired, 0);
}
