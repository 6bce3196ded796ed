// Aim: one waker at most claims a goroutine, and the queue of waiters is first in, first out with
// removal from anywhere. Method: one thread for the table of states, two for the race;
// tests/model/wake_claim_model.cpp tries all schedules.
#include "sync/waiter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

using sley::sync::chan_waiter;
using sley::sync::waiter_queue;
using sley::sync::wake_claim;

namespace {

TEST(wake_claim, a_parked_goroutine_is_claimed_once) {
  wake_claim claim;
  claim.start_parked();
  EXPECT_TRUE(claim.claim());
  EXPECT_FALSE(claim.claim());
  EXPECT_EQ(claim.claim_by_timer(), wake_claim::result::lost);
}

TEST(wake_claim, a_timer_wakes_a_parked_goroutine) {
  wake_claim claim;
  claim.start_arriving();
  EXPECT_FALSE(claim.claim()) << "no channel can wake what is not parked";
  EXPECT_TRUE(claim.commit());
  EXPECT_EQ(claim.claim_by_timer(), wake_claim::result::wake);
  EXPECT_FALSE(claim.claim());
}

TEST(wake_claim, a_goroutine_that_arrives_after_its_timer_finds_out) {
  wake_claim claim;
  claim.start_arriving();
  EXPECT_EQ(claim.claim_by_timer(), wake_claim::result::will_see);
  EXPECT_FALSE(claim.commit());
  EXPECT_FALSE(claim.claim());
}

TEST(wake_claim, of_a_channel_and_a_timer_one_wins) {
  for (int i = 0; i < 2000; ++i) {
    wake_claim claim;
    claim.start_arriving();
    bool timer_won = false;
    std::thread timer([&] { timer_won = claim.claim_by_timer() != wake_claim::result::lost; });
    const bool channel_won = claim.commit() && claim.claim();
    timer.join();
    ASSERT_NE(timer_won, channel_won);
  }
}

struct waiters {
  waiters() {
    for (chan_waiter& w : all) {
      w.chosen = &chosen;
      queue.push(&w);
    }
  }
  std::array<chan_waiter, 4> all;
  chan_waiter* chosen = nullptr;
  waiter_queue queue;
};

TEST(waiter_queue, the_longest_waiter_is_claimed_first) {
  waiters w;
  for (chan_waiter& expected : w.all) {
    EXPECT_EQ(w.queue.claim_first(), &expected);
    EXPECT_EQ(w.chosen, &expected);
    EXPECT_FALSE(expected.is_queued);
  }
  EXPECT_TRUE(w.queue.is_empty());
  EXPECT_EQ(w.queue.claim_first(), nullptr);
}

TEST(waiter_queue, any_waiter_can_leave_and_may_try_to_twice) {
  for (std::size_t leaves = 0; leaves < 4; ++leaves) {
    waiters w;
    w.queue.remove(&w.all[leaves]);
    w.queue.remove(&w.all[leaves]);
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == leaves) continue;
      EXPECT_EQ(w.queue.claim_first(), &w.all[i]);
    }
    EXPECT_TRUE(w.queue.is_empty());
    w.queue.push(&w.all[leaves]);
    EXPECT_EQ(w.queue.claim_first(), &w.all[leaves]);
  }
}

TEST(waiter_queue, a_waiter_that_another_has_claimed_is_passed_over) {
  waiters w;
  wake_claim claim;
  claim.start_parked();
  w.all[0].claim = &claim;
  ASSERT_TRUE(claim.claim());
  EXPECT_EQ(w.queue.claim_first(), &w.all[1]);
  EXPECT_FALSE(w.all[0].is_queued);
}

}  // namespace
