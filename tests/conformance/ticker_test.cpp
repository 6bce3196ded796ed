// Tickers: what Go's time/tick_test.go asserts.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <utility>

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

// Four ticks may come at once: a tick that waited; a tick whose sender was held up for 2 ms since
// it read the clock, as a thread without a CPU is; the tick that is due then; and one that is due
// soon.
GO_TEST(ticker, ticks_that_a_slow_reader_misses_are_dropped) {
  ticker t(2ms);
  sleep_for(50ms);
  const auto start = steady_clock::now();
  for (int i = 0; i < 5; ++i) (void)t.channel().receive();
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

// Whatever was done to it before, and whether or not its channel is still known.
GO_TEST(ticker, a_destroyed_ticker_has_left_no_timer_armed) {
  const auto armed = [] { return sley::runtime::read_stats().timers; };
  const auto before = armed();
  for (int i = 0; i < 1000; ++i) {
    sley::recv_chan<time_point> c;
    {
      ticker t(i % 2 == 0 ? 1us : 1h);
      if (i % 3 != 0) c = t.channel();
      if (i % 5 != 0) t.stop();
      if (i % 7 < 3) t.reset(1us);
      if (i % 11 < 3) sley::this_goroutine::yield();
      if (i % 13 < 3) t.stop();
    }
    EXPECT_TRUE(i % 3 == 0 || is_empty(c)) << i;
    EXPECT_EQ(armed(), before) << i;
  }
}

namespace {

// Stops the world time and again, as a collection of garbage does in Go.
class world_stopper {
 public:
  world_stopper() {
    stopping_.go([this] {
      for (int i = 0; !stop_; ++i) {
        sley::runtime::set_max_procs(procs_ + i % 2);
        sleep_for(1ns);
      }
    });
  }
  ~world_stopper() {
    stop_ = true;
    stopping_.wait();
    sley::runtime::set_max_procs(procs_);
  }
  world_stopper(const world_stopper&) = delete;
  world_stopper& operator=(const world_stopper&) = delete;

 private:
  const int procs_ = sley::runtime::max_procs();
  std::atomic<bool> stop_{false};
  sley::wait_group stopping_;
};

}  // namespace

// I3, TestTickerStress, TestTickerConcurrentStress
GO_TEST(ticker, ticks_come_while_the_world_is_stopped_again_and_again) {
  for (const int readers : {1, 10}) {
    const world_stopper stopper;
    ticker t(1ns);
    sley::wait_group group;
    for (int r = 0; r < readers; ++r) {
      group.go([c = t.channel()] {
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(c.receive().has_value());
      });
    }
    group.wait();
  }
}

// I10, TestIssue5745: an exception out of a timer leaves no lock held. I18, TestZeroTimerStopPanics
// and the like: what names no timer cannot be stopped or reset.
GO_TEST(ticker, after_misuse_that_throws_all_others_go_on) {
  ticker hourly(1h);
  ticker moved_from(1h);
  const ticker owner = std::move(moved_from);
  EXPECT_THROW(moved_from.stop(), std::logic_error);
  EXPECT_THROW(moved_from.reset(1ms), std::logic_error);
  sley::timer also_moved_from(1h);
  const sley::timer another = std::move(also_moved_from);
  EXPECT_THROW(also_moved_from.stop(), std::logic_error);
  EXPECT_THROW(also_moved_from.reset(1ms), std::logic_error);
  EXPECT_FALSE(static_cast<bool>(also_moved_from.channel()));
  hourly.stop();
  EXPECT_TRUE(sley::after(1ms).receive().has_value());
  also_moved_from = sley::timer(1ms);
  EXPECT_TRUE(also_moved_from.channel().receive().has_value());
}

// I19, TestLongAdjustTimers: entries that sleepers leave in the heap cost later timers nothing.
GO_TEST(ticker, many_past_sleepers_do_not_slow_down_new_timers) {
  sley::wait_group sleepers;
  for (int i = 0; i < rounds(5000); ++i) sleepers.go([] { sleep_for(10us); });
  const auto start = steady_clock::now();
  const sley::chan<int> c;
  sley::go([c] {
    for (int i = 0; i < rounds(50'000); ++i) c.send(i);
    c.close();
  });
  bool is_open = true;
  while (is_open) {
    sley::select(sley::on_receive(c, [&](auto value) { is_open = value.has_value(); }),
                 sley::on_receive(sley::after(60s), [&](auto) { is_open = false; }));
  }
  EXPECT_LT(steady_clock::now() - start, 60s);
  sleepers.wait();
}

// I20, TestTimerGC: only its handles keep a timer.
GO_TEST(ticker, dropped_timers_are_not_armed_any_more) {
  const auto armed = [] { return sley::runtime::read_stats().timers; };
  const auto before = armed();
  for (int i = 0; i < 1000; ++i) {
    (void)sley::after(1h);
    const sley::timer dropped(1h);
    const ticker dropped_too(1h);
    sley::timer stopped(1h);
    EXPECT_TRUE(stopped.stop());
    ticker stopped_too(1h);
    stopped_too.stop();
    sley::timer never_called = sley::after_func(1h, [] {});
    EXPECT_TRUE(never_called.stop());
    EXPECT_GE(armed(), before + 2);
  }
  EXPECT_EQ(armed(), before);
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
