// Aim: break_wait() ends a wait for events, whenever it comes, and any number of breaks between two
// waits end one wait. Events are found in the set that their descriptor is watched in, while a wait
// is for the events of all sets. Method: watch sets with nothing in them; the breaks come from
// other threads. G1, TestNetpollBreak.
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

#include <fcntl.h>
#include <unistd.h>

namespace platform = sley::platform;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t patience_ns = std::chrono::nanoseconds(sley_test::patience).count();

class poller : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(platform::open_poll_set(), 0);
  }
  void SetUp() override {  // of the last test a break may be left
    while (is_broken_before(platform::monotonic_ns() + 20 * ms)) {
    }
  }

  // There is nothing to watch. Whether it ended before the deadline.
  static bool is_broken_before(std::int64_t deadline_ns) {
    platform::wait_for_events(deadline_ns);
    return platform::monotonic_ns() < deadline_ns;
  }
  static bool is_broken() { return is_broken_before(platform::monotonic_ns() + patience_ns); }
  static void expect_next_blocks() {
    EXPECT_FALSE(is_broken_before(platform::monotonic_ns() + 20 * ms));
  }
};

struct byte_pipe {
  byte_pipe() {
    int fds[2];
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    reader = fds[0];
    writer = fds[1];
  }
  ~byte_pipe() {
    ::close(reader);
    ::close(writer);
  }
  byte_pipe(const byte_pipe&) = delete;
  byte_pipe& operator=(const byte_pipe&) = delete;

  void write() const { EXPECT_EQ(::write(writer, "x", 1), 1); }

  int reader = -1;
  int writer = -1;
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
  for (int i = 0; i < 100; ++i) EXPECT_EQ(platform::take_events(0, events), 0U);
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

TEST_F(poller, events_stay_in_the_set_of_their_descriptor) {
  const byte_pipe first;
  const byte_pipe second;
  ASSERT_EQ(platform::watch(0, first.reader, 1), 0);
  ASSERT_EQ(platform::watch(1, second.reader, 2), 0);
  first.write();
  second.write();
  for (std::uint32_t set = 0; set < 2; ++set) {
    std::array<platform::poll_event, 8> events;
    EXPECT_TRUE(is_broken()) << set;  // a wait is for all that are left
    ASSERT_EQ(platform::take_events(set, events), 1U) << set;
    EXPECT_EQ(events[0].tag, set + 1);
    EXPECT_TRUE(events[0].is_readable);
  }
  expect_next_blocks();
  platform::unwatch(0, first.reader);
  platform::unwatch(1, second.reader);
}

// As when a goroutine goes on elsewhere: the other set tells that its descriptor was ready before.
TEST_F(poller, a_descriptor_keeps_its_readiness_in_another_set) {
  const byte_pipe p;
  std::array<platform::poll_event, 8> events;
  ASSERT_EQ(platform::watch(0, p.reader, 7), 0);
  p.write();
  ASSERT_EQ(platform::watch(1, p.reader, 7), 0);
  platform::unwatch(0, p.reader);
  EXPECT_EQ(platform::take_events(0, events), 0U);
  ASSERT_EQ(platform::take_events(1, events), 1U);
  EXPECT_EQ(events[0].tag, 7U);
  platform::unwatch(1, p.reader);
}
