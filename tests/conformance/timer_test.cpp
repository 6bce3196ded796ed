// Timers, tickers and sleeping: what Go's time/sleep_test.go and time/tick_test.go assert, with
// the meaning of Go 1.23. Real time passes here, so whatever could fail on a slow machine is tried
// again with longer delays.
#include "support/harness.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using sley::chan_status;
using sley::ticker;
using sley::time_point;
using sley::timer;
using sley::this_goroutine::sleep_for;
using sley::this_goroutine::sleep_until;
using sley_test::eventually;
using sley_test::let_others_run;
using sley_test::patience;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

namespace {

constexpr nanoseconds longest = nanoseconds::max();
constexpr nanoseconds most_negative = nanoseconds::min();

bool is_empty(const sley::recv_chan<time_point>& c) {
  time_point at;
  return c.try_receive(at) == chan_status::would_block;
}

}  // namespace

// I1, TestSleep, TestAfter
GO_TEST(timer, neither_sleep_nor_after_is_shorter_than_asked) {
  for (const nanoseconds d : std::initializer_list<nanoseconds>{1ns, 10us, 7ms, 100ms}) {
    const auto start = steady_clock::now();
    sleep_for(d);
    EXPECT_GE(steady_clock::now() - start, d);

    const auto armed = steady_clock::now();
    const auto fired = sley::after(d).receive();
    ASSERT_TRUE(fired.has_value());
    EXPECT_GE(*fired - armed, d);
    EXPECT_LE(*fired, steady_clock::now());
    EXPECT_GE(steady_clock::now() - armed, d);
  }
  const auto until = steady_clock::now() + 5ms;
  sleep_until(until);
  EXPECT_GE(steady_clock::now(), until);
}

GO_TEST(timer, ten_thousand_sleepers_all_wake) {
  const int sleepers = rounds(10000);
  std::atomic<int> early{0};
  sley::wait_group group;
  for (int i = 0; i < sleepers; ++i) {
    group.go([&early, i] {
      const nanoseconds d = (i * 7919 % 50) * 1ms;
      const auto start = steady_clock::now();
      sleep_for(d);
      if (steady_clock::now() - start < d) ++early;
    });
  }
  group.wait();
  EXPECT_EQ(early, 0);
}

// I2, TestAfterFunc: each callback arms the next one, and then sleeps.
GO_TEST(timer, callbacks_may_arm_the_next_and_sleep) {
  std::atomic<int> left{10};
  sley::chan<void> done;
  std::function<void()> next = [&, done] {
    if (--left >= 0) {
      sley::after_func(0ns, next);
      sleep_for(20ms);
    } else {
      done.send();
    }
  };
  sley::after_func(0ns, next);
  done.receive();
}

// I6, TestAfterQueuing. Judged by the times that the timers carry: the first goroutine to be
// woken may run last.
GO_TEST(timer, timers_fire_in_the_order_of_their_deadlines) {
  constexpr std::array<int, 13> slots = {5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
  using firing = std::pair<time_point, int>;
  std::array<firing, slots.size()> order;
  const auto is_in_order = [&order] {
    std::sort(order.begin(), order.end());
    return std::ranges::is_sorted(order, {}, &firing::second);
  };
  // Each processor has timers of its own, and a goroutine that waits for them may be on any.
  for (nanoseconds step = 3ms; step < 200ms; step *= 3) {
    sley::chan<firing> fired(slots.size());
    for (const int slot : slots) {
      sley::go([fired, c = sley::after(slot * step), slot] { fired.send({*c.receive(), slot}); });
    }
    for (firing& next : order) next = *fired.receive();
    if (is_in_order()) break;
  }
  EXPECT_TRUE(is_in_order());
}

// I7, TestSleepZeroDeadlock
GO_TEST(timer, sleeping_for_nothing_returns_at_once) {
  const auto start = steady_clock::now();
  for (int i = 0; i < 1000; ++i) {
    sleep_for(0ns);
    sleep_for(-1h);
    sleep_for(most_negative);
    sleep_until(steady_clock::now() - 1h);
    sleep_until(time_point::min());
  }
  EXPECT_LT(steady_clock::now() - start, patience);
  sley::chan<int> c;
  sley::go([c] { c.send(1); });
  EXPECT_EQ(c.receive(), 1);
}

// I8, TestReset
GO_TEST(timer, reset_moves_a_pending_timer_and_rearms_a_fired_one) {
  timer t(1h);
  EXPECT_TRUE(t.reset(2h));
  EXPECT_TRUE(is_empty(t.channel()));
  auto start = steady_clock::now();
  EXPECT_TRUE(t.reset(5ms));
  EXPECT_TRUE(t.channel().receive().has_value());
  EXPECT_GE(steady_clock::now() - start, 5ms);
  start = steady_clock::now();
  EXPECT_FALSE(t.reset(5ms));
  EXPECT_TRUE(t.channel().receive().has_value());
  EXPECT_GE(steady_clock::now() - start, 5ms);
  EXPECT_FALSE(t.stop());
  EXPECT_FALSE(t.reset(1h));
  EXPECT_TRUE(t.stop());
  EXPECT_FALSE(t.stop());
  EXPECT_FALSE(t.reset(1ms));
  EXPECT_TRUE(t.channel().receive().has_value());
}

// I9, TestOverflowSleep
GO_TEST(timer, the_longest_duration_never_fires_and_the_most_negative_at_once) {
  timer never(longest);
  ticker never_ticks(longest);
  const auto after_never = sley::after(longest);
  std::atomic<bool> called{false};
  timer never_called = sley::after_func(longest, [&] { called = true; });
  EXPECT_TRUE(sley::after(most_negative).receive().has_value());
  EXPECT_TRUE(timer(-1ns).channel().receive().has_value());
  EXPECT_TRUE(sley::after(10ms).receive().has_value());
  EXPECT_TRUE(is_empty(never.channel()));
  EXPECT_TRUE(is_empty(never_ticks.channel()));
  EXPECT_TRUE(is_empty(after_never));
  EXPECT_FALSE(called);
  EXPECT_TRUE(never.stop());
  EXPECT_TRUE(never_called.stop());
}

// I12, TestZeroTimer
GO_TEST(timer, zero_timers_of_every_kind_fire_at_once) {
  const int count = rounds(20000);
  for (int i = 0; i < count; ++i) {
    time_point at;
    timer t(0ns);
    ASSERT_EQ(t.channel().try_receive_for(at, patience), chan_status::ok) << "in try " << i;
    ASSERT_EQ(sley::after(0ns).try_receive_for(at, patience), chan_status::ok) << "in try " << i;
    t.reset(0ns);
    ASSERT_EQ(t.channel().try_receive_for(at, patience), chan_status::ok) << "in try " << i;
  }
  sley::chan<void> called;
  for (int i = 0; i < count; ++i) {
    sley::after_func(0ns, [called] { called.send(); });
    ASSERT_EQ(called.try_receive_for(patience), chan_status::ok) << "in try " << i;
  }
}

GO_TEST(timer, a_sleep_of_a_nanosecond_ends_at_once) {
  const int count = rounds(20000);
  const auto start = steady_clock::now();
  for (int i = 0; i < count; ++i) sleep_for(1ns);
  EXPECT_LT(steady_clock::now() - start, patience);
}

// I13, TestTimerModifiedEarlier
GO_TEST(timer, timers_moved_into_the_past_fire_at_once) {
  const int count = rounds(1000);
  for (int i = 0; i < count; ++i) {
    timer t(1h);
    for (int j = 0; j < 10; ++j) {
      if (!t.stop()) (void)t.channel().receive();
      t.reset(-1h);
    }
    time_point at;
    ASSERT_EQ(t.channel().try_receive_for(at, patience), chan_status::ok) << "timer " << i;
  }
}

namespace {

// Two timers race; what the loser says must be true.
void race_two_timers(bool by_stop) {
  timer first(1ms);
  timer second(1ms);
  timer* loser = nullptr;
  sley::select(sley::on_receive(first.channel(), [&](auto) { loser = &second; }),
               sley::on_receive(second.channel(), [&](auto) { loser = &first; }));
  const bool was_pending = by_stop ? loser->stop() : loser->reset(1h);
  time_point at;
  if (was_pending) {
    EXPECT_EQ(loser->channel().try_receive(at), chan_status::would_block) << "a stale value";
  } else {
    EXPECT_EQ(loser->channel().try_receive_for(at, patience), chan_status::ok) << "no value";
  }
}

}  // namespace

// I15, TestStopResult, TestResetResult
GO_TEST(timer, stop_and_reset_tell_the_truth_in_a_race) {
  const int racers = rounds(1000);
  for (const bool by_stop : {true, false}) {
    sley::wait_group group;
    for (int i = 0; i < racers; ++i) {
      group.go([by_stop] {
        for (int j = 0; j < 20; ++j) race_two_timers(by_stop);
      });
    }
    group.wait();
  }
}

// I15 for callbacks: stop() says whether the function will run.
GO_TEST(timer, a_stopped_callback_does_not_run_and_any_other_does) {
  const int count = rounds(2000);
  std::atomic<int> ran{0};
  int stopped = 0;
  for (int i = 0; i < count; ++i) {
    timer t = sley::after_func(i % 50 * 1us, [&ran] { ++ran; });
    for (int j = 0; j < i % 7; ++j) sley::this_goroutine::yield();
    if (t.stop()) ++stopped;
  }
  EXPECT_TRUE(eventually([&] { return ran + stopped == count; })) << ran << " + " << stopped;
  let_others_run();
  EXPECT_EQ(ran + stopped, count);
}

GO_TEST(timer, a_dropped_callback_timer_fires_and_a_reset_one_fires_again) {
  std::atomic<int> ran{0};
  {
    sley::after_func(1ms, [&ran] { ++ran; });
  }
  EXPECT_TRUE(eventually([&] { return ran == 1; }));
  timer t = sley::after_func(1ms, [&ran] { ++ran; });
  EXPECT_FALSE(static_cast<bool>(t.channel()));
  EXPECT_TRUE(eventually([&] { return ran == 2; }));
  EXPECT_FALSE(t.reset(1ms));
  EXPECT_TRUE(eventually([&] { return ran == 3; }));
  EXPECT_FALSE(t.stop());
}

GO_TEST(timer, a_callback_is_destroyed_with_its_timer) {
  auto token = std::make_shared<int>(1);
  {
    timer t = sley::after_func(1h, [token] {});
    EXPECT_TRUE(t.stop());
  }
  EXPECT_TRUE(eventually([&] { return token.use_count() == 1; })) << token.use_count();
  sley::after_func(1ms, [token] {});
  EXPECT_TRUE(eventually([&] { return token.use_count() == 1; })) << token.use_count();
}

// I21, TestChan (time)
namespace {

struct alignas(64) aligned_call {
  std::atomic<int>* good;
  void operator()() const {
    if (reinterpret_cast<std::uintptr_t>(this) % 64 == 0) ++*good;
  }
};

}  // namespace

GO_TEST(timer, a_callback_may_be_aligned_as_it_likes) {
  std::atomic<int> good{0};
  for (int i = 0; i < 10; ++i) sley::after_func(1us, aligned_call{&good});
  EXPECT_TRUE(eventually([&] { return good == 10; }));
}

// A timer that is armed again is not put where no processor looks any more.
GO_TEST(timer, timers_are_armed_again_after_their_processor_has_gone) {
  const sley_test::processors eight(8);
  std::atomic<int> fired{0};
  std::vector<timer> timers;
  sley::mutex guard;
  sley::wait_group group;
  constexpr int count = 100;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      for (int k = 100; k > 0; --k) sley::this_goroutine::yield();
      timer one = sley::after_func(longest, [&fired] { ++fired; });
      EXPECT_TRUE(one.stop());
      const std::lock_guard lock(guard);
      timers.push_back(std::move(one));
    });
  }
  group.wait();
  sley::runtime::set_max_procs(1);
  for (timer& one : timers) EXPECT_FALSE(one.reset(1us));
  EXPECT_TRUE(eventually([&] { return fired == count; })) << fired << " of " << count;
}

GO_TEST(timer, a_timer_channel_looks_unbuffered) {
  timer t(0ns);
  ticker tick(1ns);
  const auto c = t.channel();
  EXPECT_TRUE(c == t.channel());
  sleep_for(5ms);
  EXPECT_EQ(c.size(), 0u);
  EXPECT_EQ(c.capacity(), 0u);
  EXPECT_EQ(tick.channel().size(), 0u);
  EXPECT_EQ(tick.channel().capacity(), 0u);
  EXPECT_FALSE(c.closed());
}

// I21
GO_TEST(timer, nothing_stale_is_received_after_stop_or_reset) {
  timer t(1ms);
  sleep_for(5ms);
  EXPECT_TRUE(t.stop()) << "its value had not been received";
  EXPECT_TRUE(is_empty(t.channel()));
  EXPECT_FALSE(t.reset(1ms));
  sleep_for(5ms);
  EXPECT_TRUE(t.reset(1h)) << "its value had not been received";
  EXPECT_TRUE(is_empty(t.channel()));
  EXPECT_TRUE(t.stop());

  ticker tick(1ms);
  sleep_for(5ms);
  tick.stop();
  EXPECT_TRUE(is_empty(tick.channel()));
  tick.reset(1ms);
  sleep_for(5ms);
  tick.reset(1h);
  EXPECT_TRUE(is_empty(tick.channel()));
}

// I21
GO_TEST(timer, several_goroutines_may_wait_on_one_channel) {
  timer t(1h);
  std::atomic<int> received{0};
  std::atomic<int> gave_up{0};
  sley::chan<void> stop;
  sley::wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&, c = t.channel()] {
      sley::select(sley::on_receive(c, [&](auto) { ++received; }),
                   sley::on_receive(stop, [&](auto) { ++gave_up; }));
    });
  }
  let_others_run();
  t.reset(1ms);
  EXPECT_TRUE(eventually([&] { return received == 1; }));
  t.reset(1ms);
  EXPECT_TRUE(eventually([&] { return received == 2; }));
  stop.close();
  group.wait();
  EXPECT_EQ(received, 2);
  EXPECT_EQ(gave_up, 8);
}

// I22, TestAfterTimes
GO_TEST(timer, a_value_read_late_carries_the_time_of_expiry) {
  std::chrono::nanoseconds off{};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = steady_clock::now();
    const auto c = sley::after(10ms);
    sleep_for(150ms);
    off = *c.receive() - start;
    EXPECT_GE(off, 10ms);
    if (off < 75ms) return;
  }
  ADD_FAILURE() << "the value says " << off.count() << " ns after the start";
}
