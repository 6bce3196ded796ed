// Tickers: what Go's time/tick_test.go asserts.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>

using sley::chan_status;
using sley::ticker;
using sley::time_point;
using sley::this_goroutine::sleep_for;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

bool is_empty(const sley::recv_chan<time_point>& c) {
  time_point at;
  return c.try_receive(at) == chan_status::would_block;
}

}  // namespace

// TestTicker
GO_TEST(ticker, ticks_come_period_by_period) {
  const auto start = steady_clock::now();
  ticker t(4ms);
  time_point last = start;
  for (int i = 0; i < 10; ++i) {
    const auto at = t.channel().receive();
    ASSERT_TRUE(at.has_value());
    EXPECT_GT(*at, last);
    last = *at;
  }
  // A late tick does not move those after it, so the mean is the period or, with ticks lost, more.
  EXPECT_GE(steady_clock::now() - start, 40ms);
  t.stop();
  sleep_for(10ms);
  EXPECT_TRUE(is_empty(t.channel()));
}

GO_TEST(ticker, ticks_that_a_slow_reader_misses_are_dropped) {
  ticker t(2ms);
  sleep_for(50ms);
  const auto start = steady_clock::now();
  (void)t.channel().receive();  // the one that waited
  (void)t.channel().receive();
  (void)t.channel().receive();
  EXPECT_GE(steady_clock::now() - start, 2ms) << "old ticks were kept";
}

GO_TEST(ticker, reset_changes_the_period) {
  ticker t(1h);
  auto start = steady_clock::now();
  t.reset(3ms);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(t.channel().receive().has_value());
  EXPECT_GE(steady_clock::now() - start, 9ms);
  t.reset(1h);
  EXPECT_TRUE(is_empty(t.channel()));
  t.stop();
  t.reset(2ms);
  EXPECT_TRUE(t.channel().receive().has_value());
}

// I18, TestNewTickerLtZeroDuration, TestTickerResetLtZeroDuration
GO_TEST(ticker, a_period_that_is_not_positive_is_refused) {
  EXPECT_THROW(ticker(0ns), std::invalid_argument);
  EXPECT_THROW(ticker(-1ns), std::invalid_argument);
  EXPECT_THROW((void)ticker(std::chrono::nanoseconds::min()), std::invalid_argument);
  ticker t(1ms);
  EXPECT_THROW(t.reset(0ns), std::invalid_argument);
  EXPECT_THROW(t.reset(-1h), std::invalid_argument);
  EXPECT_TRUE(t.channel().receive().has_value()) << "a refused reset changed the ticker";
}

// I18, TestTeardown
GO_TEST(ticker, stopping_right_after_a_tick_does_not_hang) {
  for (int i = 0; i < 20; ++i) {
    ticker t(1ms);
    (void)t.channel().receive();
    t.stop();
    t.stop();
  }
}

// TestTick: the ticker is gone and its channel is still asked.
GO_TEST(ticker, a_destroyed_ticker_ticks_no_more) {
  sley::recv_chan<time_point> c;
  {
    ticker t(1ms);
    c = t.channel();
    EXPECT_TRUE(c.receive().has_value());
  }
  sleep_for(5ms);
  EXPECT_TRUE(is_empty(c));
}

// I22, TestTickTimes
GO_TEST(ticker, a_tick_read_late_carries_the_time_of_expiry) {
  std::chrono::nanoseconds off{};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = steady_clock::now();
    ticker t(10ms);
    sleep_for(150ms);
    off = *t.channel().receive() - start;
    EXPECT_GE(off, 10ms);
    if (off < 75ms) return;
  }
  ADD_FAILURE() << "the tick says " << off.count() << " ns after the start";
}

// I16, TestMultiWakeupTicker
GO_TEST(ticker, all_processors_may_hammer_one_ticker) {
  ticker t(1us);
  sley::wait_group group;
  const int ticks = rounds(2000);
  for (int p = 0; p < sley::runtime::max_procs(); ++p) {
    group.go([=, c = t.channel()] {
      time_point at;
      for (int i = 0; i < ticks; ++i) c.try_receive_for(at, 1us);
    });
  }
  group.wait();
}

// I16, TestMultiWakeupTimer
GO_TEST(ticker, all_processors_may_reset_one_timer) {
  sley::timer t(1ns);
  sley::wait_group group;
  const int resets = rounds(10000);
  for (int p = 0; p < sley::runtime::max_procs(); ++p) {
    group.go([&] {
      for (int i = 0; i < resets; ++i) t.reset(i % 3 * 1ns);
    });
  }
  group.wait();
  t.reset(0ns);
  EXPECT_TRUE(t.channel().receive().has_value());
}
