// Aim: a wait for events ends by break_wait(), whenever that comes, and any number of breaks that
// nobody has waited for end one. Method: the one poller of this process, with nothing to watch;
// the breaks come from other threads. G1, TestNetpollBreak.
#include "platform/poller.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "platform/os.hpp"
#include "support/conditions.hpp"

namespace platform = sley::platform;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t patience_ns = std::chrono::nanoseconds(sley_test::patience).count();

class poller : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(platform::open_poller(), 0); }
  void SetUp() override {  // of the last test a break may be left
    while (is_broken_before(platform::monotonic_ns() + 20 * ms)) {
    }
  }

  // There is nothing to watch. Whether it ended before the deadline.
  static bool is_broken_before(std::int64_t deadline_ns) {
    std::array<platform::poll_event, 8> events;
    EXPECT_EQ(platform::wait_for_events(events, deadline_ns), 0U);
    return platform::monotonic_ns() < deadline_ns;
  }
  static bool is_broken() { return is_broken_before(platform::monotonic_ns() + patience_ns); }
  static void expect_next_blocks() {
    EXPECT_FALSE(is_broken_before(platform::monotonic_ns() + 20 * ms));
  }
};

}  // namespace

TEST_F(poller, a_break_ends_the_wait_that_comes_next_and_no_other) {
  expect_next_blocks();
  platform::break_wait();
  EXPECT_TRUE(is_broken());
  expect_next_blocks();
}

TEST_F(poller, thousands_of_breaks_end_one_wait) {
  for (int i = 0; i < 10'000; ++i) platform::break_wait();
  EXPECT_TRUE(is_broken());
  expect_next_blocks();
}

TEST_F(poller, thousands_of_breaks_at_once_end_one_wait) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 5'000; ++i) platform::break_wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(is_broken());
  expect_next_blocks();
}

// It is for one that sleeps: a look that does not is no reason to forget it.
TEST_F(poller, a_break_outlives_looks_that_do_not_wait) {
  platform::break_wait();
  std::array<platform::poll_event, 8> events;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(platform::wait_for_events(events, 0), 0U);
  EXPECT_TRUE(is_broken());
  expect_next_blocks();
}

// The break comes before the wait, between the look and the sleep, or while it sleeps.
TEST_F(poller, a_break_is_lost_at_no_moment) {
  constexpr int rounds = sley_test::under_sanitizer ? 1'000 : 20'000;
  std::atomic<int> sent{0};
  std::atomic<int> seen{0};
  std::thread breaker([&] {
    for (int i = 1; i <= rounds; ++i) {
      sent = i;
      platform::break_wait();
      while (seen < i) std::this_thread::yield();
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    while (sent < i) EXPECT_TRUE(is_broken());
    seen = i;
  }
  breaker.join();
}
