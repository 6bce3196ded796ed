// Aim: a note lets one thread sleep until another wakes it, whichever comes first. Method: real
// threads; tests/model/note_model.cpp tries all their schedules.
#include "parts/note.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "platform/os.hpp"

using sley::parts::note;
namespace platform = sley::platform;

namespace {

constexpr std::int64_t ms = 1'000'000;

TEST(note, a_wake_before_the_sleep_lets_it_return_at_once) {
  note n;
  n.wake();
  EXPECT_TRUE(n.sleep());
}

TEST(note, a_wake_with_a_deadline_long_past_is_still_a_wake) {
  note n;
  n.wake();
  EXPECT_TRUE(n.sleep(0));
}

TEST(note, a_sleep_without_a_wake_ends_at_its_deadline_and_not_before) {
  note n;
  const std::int64_t deadline = platform::monotonic_ns() + 5 * ms;
  EXPECT_FALSE(n.sleep(deadline));
  EXPECT_GE(platform::monotonic_ns(), deadline);
}

TEST(note, after_a_deadline_the_wake_is_there_for_the_next_sleep) {
  note n;
  EXPECT_FALSE(n.sleep(platform::monotonic_ns()));
  n.wake();
  EXPECT_TRUE(n.sleep());
}

TEST(note, two_threads_pass_a_value_to_and_fro) {
  constexpr int rounds = 20'000;
  note there;
  note back;
  int value = 0;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      there.sleep();
      there.clear();
      ++value;
      back.wake();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(value, i);
    there.wake();
    back.sleep();
    back.clear();
  }
  other.join();
  EXPECT_EQ(value, rounds);
}

TEST(note, a_wake_at_the_deadline_is_not_lost) {
  for (int i = 0; i < 2000; ++i) {
    note n;
    int value = 0;
    std::thread waker([&] {
      value = 1;
      n.wake();
    });
    if (!n.sleep(platform::monotonic_ns() + i * 20)) n.sleep();
    EXPECT_EQ(value, 1);
    waker.join();
  }
}

TEST(note, any_number_of_wakes_is_one_until_it_is_restarted) {
  note n;
  for (int round = 0; round < 3; ++round) {
    n.wake();
    n.wake();
    EXPECT_TRUE(n.sleep());
    EXPECT_TRUE(n.sleep()) << "it is still signalled";
    n.restart();
    EXPECT_FALSE(n.sleep(platform::monotonic_ns() + ms)) << "that was all one wake";
  }
}

// The thread looks for work after a restart, because an earlier wake was perhaps about that work.
TEST(note, a_restart_loses_no_wake) {
  constexpr int rounds = 50'000;
  note n;
  std::atomic<int> submitted{0};
  std::thread submitter([&] {
    for (int i = 1; i <= rounds; ++i) {
      submitted.store(i, std::memory_order_relaxed);  // the note orders it
      n.wake();
      if (i % 16 == 0) platform::yield_thread();
    }
  });
  bool in_time = true;
  for (int seen = 0; seen < rounds && in_time;) {
    in_time = n.sleep(platform::monotonic_ns() + 20'000 * ms);
    n.restart();
    seen = submitted.load(std::memory_order_relaxed);
  }
  EXPECT_TRUE(in_time) << "sleeps although something was submitted";
  submitter.join();
}

}  // namespace
