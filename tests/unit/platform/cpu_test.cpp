// Aim: the CPU's counter goes as far as platform/cpu.hpp promises. Method: counter and clock side
// by side.
#include "platform/cpu.hpp"
#include "platform/os.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

// A moment: the counter was read between the two times.
struct reading {
  std::uint64_t earliest_ns;
  std::uint64_t ticks;
  std::uint64_t latest_ns;
};

std::uint64_t now_ns() { return static_cast<std::uint64_t>(sley::platform::monotonic_ns()); }

reading read_both() {
  const std::uint64_t earliest = now_ns();
  const std::uint64_t ticks = sley::platform::read_cycle_counter();
  return {earliest, ticks, now_ns()};
}

}  // namespace

// The bounds hold however long the thread waits for its CPU between two readings.
TEST(cpu_counter, goes_half_as_far_to_twice_as_far_as_the_ticks_of_the_time) {
  const reading begin = read_both();
  while (now_ns() < begin.latest_ns + 10'000'000) {
  }
  const reading end = read_both();
  const std::uint64_t ticks = end.ticks - begin.ticks;
  EXPECT_LE(ticks, 2 * sley::platform::counter_ticks(end.latest_ns - begin.earliest_ns));
  EXPECT_GE(ticks, sley::platform::counter_ticks(end.earliest_ns - begin.latest_ns) / 2);
}
