// The clock of the simulation, to the nanosecond, where Go's testing/synctest is asked the same: it
// stands while a goroutine can run, goes to the next timer when none can, and costs nothing. Rows K
// of Go's tests, as far as they have a counterpart (tests/README.md).
//
// SLEY_SCHEDULES is how many orders each is played in; 200 if it is not set.
#include "schedules.hpp"

#include "support/conditions.hpp"

#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <source_location>
#include <string>

namespace {

using namespace std::chrono_literals;
using sley::context;
using sley::testing::check;
using sley::testing::explore;
using sley::testing::failure;
using sley::testing::report;
using sley::testing::strategy;
using sley::this_goroutine::sleep_for;
using sley::this_goroutine::sleep_until;
using std::chrono::steady_clock;

// How much later than a timer the clock may be, in the schedules that are played now.
std::chrono::nanoseconds slack{0};

// By chance, with several processors, pauses of the library's own pass beside goroutines that could
// run: a thief gives a processor 20 us before it takes the goroutine in its next slot.
constexpr std::chrono::nanoseconds of_thieves = 1ms;

void expect_clean(const std::function<void()>& f) {
  const std::uint64_t share = std::max<std::uint64_t>(sley_test::schedules() / 8, 1);
  for (const int procs : {1, 2, 4, 8}) {
    for (const strategy s : {strategy::random, strategy::priorities}) {
      slack = s == strategy::random && procs > 1 ? of_thieves : 0ns;
      const report r = explore({.schedules = share, .strategy = s, .procs = procs}, f);
      EXPECT_TRUE(r.is_clean()) << procs << " processors: " << r.to_string();
    }
  }
}

// Checks that this much time has passed, and not a nanosecond more.
void check_passed(steady_clock::time_point start, std::chrono::nanoseconds d,
                  std::source_location where = std::source_location::current()) {
  const auto passed = steady_clock::now() - start;
  check(passed >= d && passed <= d + slack, "the clock is where the timer was", where);
}

// What a dump says of two goroutines, one of which began to wait 90 minutes after the other, 10
// minutes before the dump. sysmon, whose clock tells since when a goroutine waits, has rested for
// most of that time.
std::string dump_of_two_waits(std::uint64_t seed, strategy s, int procs) {
  return explore({.schedules = 1, .seed = seed, .strategy = s, .procs = procs},
                 [] {
                   const sley::chan<void> never;
                   const auto begin_to_wait = [never] {
                     const sley::chan<void> began;
                     sley::go([=] {
                       began.send();
                       never.receive();
                     });
                     began.receive();
                   };
                   begin_to_wait();
                   sleep_for(90min);
                   begin_to_wait();
                   sleep_for(10min);
                   check(false, "a dump is wanted");
                 })
      .to_string();
}

TEST(clock, tells_since_when_each_goroutine_waits) {
  for (const int procs : {1, 2, 4, 8}) {
    for (const strategy s : {strategy::random, strategy::priorities}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const std::string dump = dump_of_two_waits(seed, s, procs);
        EXPECT_NE(dump.find("[chan receive, 100 minutes]"), std::string::npos) << dump;
        EXPECT_NE(dump.find("[chan receive, 10 minutes]"), std::string::npos) << dump;
      }
    }
  }
}

// K1, TestNow, TestMonotonicClock
TEST(clock, stands_while_a_goroutine_can_run) {
  expect_clean([] {
    const auto start = steady_clock::now();
    sley::wait_group all;
    for (int i = 0; i < 3; ++i) {
      all.go([start] {
        for (int n = 0; n < 20; ++n) sley::this_goroutine::yield();
        check_passed(start, 0ns);
      });
    }
    all.wait();
    check_passed(start, 0ns);
  });
}

// K1
TEST(clock, goes_exactly_to_the_next_timer_when_all_are_blocked) {
  expect_clean([] {
    const auto start = steady_clock::now();
    for (const std::chrono::nanoseconds d : {1ns, 999ns, 1'000'001ns}) {
      const auto from = steady_clock::now();
      sleep_for(d);
      check_passed(from, d);
    }
    const auto from = steady_clock::now();
    check(from - start == 1'001'001ns, "nothing is added");
    sley::wait_group all;
    for (const auto d : {7h, 3h, 5h}) {
      all.go([from, d] {
        sleep_for(d);
        check_passed(from, d);
        sleep_for(30min);
        check_passed(from, d + 30min);
      });
    }
    all.wait();
    check_passed(from, 7h + 30min);
  });
}

TEST(clock, runs_a_thousand_hours_in_next_to_no_time) {
  const auto start = steady_clock::now();  // outside, that is the real time
  const report r = explore({.schedules = 1, .max_steps = 100'000'000}, [] {
    const auto begin = steady_clock::now();
    for (int i = 0; i < 1000; ++i) sleep_for(1h);
    check(steady_clock::now() - begin >= 1000h, "they have passed");
  });
  EXPECT_TRUE(r.is_clean()) << r.to_string();
  EXPECT_LT(steady_clock::now() - start, sley_test::patience);
}

// K3, TestTimerReadBeforeDeadline, ...AfterDeadline, ...Reset, TestTimeAfter
TEST(clock, timers_read_early_late_or_reset_have_exact_times) {
  expect_clean([] {
    const auto start = steady_clock::now();
    const sley::timer early(1s);
    check(*early.channel().receive() - start == 1s, "read before");
    check_passed(start, 1s);
    sley::timer t(1s);
    sleep_for(2s);
    check(*t.channel().receive() - start == 2s, "read late, it has the time of expiry");
    check_passed(start, 3s);
    t.reset(5s);
    sleep_for(1s);
    check(t.reset(2s), "it was pending");
    check(*t.channel().receive() - start == 6s, "reset");
    check_passed(start, 6s);
    check(*sley::after(1h).receive() - start == 1h + 6s, "after");
    check_passed(start, 1h + 6s);
    sley::ticker ticks(1min);
    for (int i = 1; i <= 3; ++i) {
      ticks.channel().receive();
      check_passed(start, 1h + 6s + i * 1min);
    }
  });
}

// K3: goroutines that are started by timers are no later than those.
TEST(clock, a_function_of_a_timer_is_called_at_its_time) {
  expect_clean([] {
    const auto start = steady_clock::now();
    const sley::chan<void> called;
    sley::after_func(1h, [=] {
      check_passed(start, 1h);
      sleep_for(1s);
      check_passed(start, 1h + 1s);
      called.send();
    });
    called.receive();
    check_passed(start, 1h + 1s);
  });
}

// K3, TimerAfterBubbleExit
TEST(clock, no_timer_fires_when_the_function_has_returned) {
  expect_clean([] {
    sley::after_func(1h, [] { check(false, "it fires"); });
    sleep_for(59min);
  });
}

// K5, TestTimerRunsImmediately, ...RanInPast, AfterFuncRunsImmediately, ResetZeroDoNotHang
TEST(clock, zero_timers_are_due_without_a_wait_for_the_clock) {
  expect_clean([] {
    const auto start = steady_clock::now();
    for (const auto d : {0h, -1h}) {
      sleep_for(d);
      sleep_until(start + d);
      sley::after(d).receive();
      sley::timer t(d);
      t.channel().receive();
      t.reset(1h);
      t.reset(d);
      t.channel().receive();
      const sley::chan<void> called;
      sley::after_func(d, [called] { called.send(); });
      called.receive();
    }
    check_passed(start, 0ns);
  });
}

// K9, TestCond, K10, TestWaitGroup: a goroutine that waits for another one, in whatever way, does
// not hold up the clock.
TEST(clock, goes_on_while_goroutines_wait_for_each_other) {
  expect_clean([] {
    const auto start = steady_clock::now();
    sley::mutex m;
    sley::condition_variable changed;
    bool is_changed = false;
    const sley::chan<void> values;
    const sley::chan<void> never;
    sley::wait_group one;
    sley::wait_group all;
    one.add(1);
    all.go([&] {
      std::unique_lock held(m);
      changed.wait(held, [&] { return is_changed; });
      check_passed(start, 1h);
    });
    all.go([&] {
      one.wait();
      check_passed(start, 2h);
    });
    all.go([&] {
      sley::select(sley::on_receive(values, [](bool) {}), sley::on_receive(never, [](bool) {}));
      check_passed(start, 3h);
    });
    sleep_for(1h);
    {
      const std::lock_guard held(m);
      is_changed = true;
      changed.notify_one();
    }
    sleep_for(1h);
    one.done();
    sleep_for(1h);
    values.send();
    all.wait();
    check_passed(start, 3h);
  });
}

// Go's clock would stand: there a mutex is not of the bubble.
TEST(clock, goes_on_while_a_goroutine_waits_for_a_lock) {
  expect_clean([] {
    const auto start = steady_clock::now();
    sley::mutex m;
    sley::wait_group all;
    m.lock();
    all.go([&] {
      const std::lock_guard held(m);
      check_passed(start, 1h);
    });
    sleep_for(1h);
    m.unlock();
    all.wait();
  });
}

// K13, TestContextWithTimeout, ...WithDeadline
TEST(clock, a_context_ends_at_its_deadline_and_not_a_nanosecond_before) {
  expect_clean([] {
    const auto start = steady_clock::now();
    auto [ctx, cancel] = sley::with_timeout(context::background(), 5s);
    const context below = sley::with_value(sley::with_cancel(ctx).first, "k", 1);
    check(ctx.deadline() == start + 5s, "its deadline");
    sleep_for(5s - 1ns);
    check(!ctx.error() && !ctx.done().closed() && !below.error(), "it is not done before");
    below.done().receive();
    check_passed(start, 5s);
    check(ctx.error() == sley::context_errc::deadline_exceeded, "it is done");
    check(below.error() == sley::context_errc::deadline_exceeded, "and what is below");
  });
}

// K13, TestContextAfterFunc
TEST(clock, a_function_after_a_context_is_called_when_it_ends) {
  expect_clean([] {
    const auto start = steady_clock::now();
    auto [ctx, cancel] = sley::with_cancel(context::background());
    auto [late, cancel_late] = sley::with_timeout(context::background(), 2h);
    const sley::chan<void> called;
    for (const context& c : {ctx, late}) {
      sley::after_func(c, [=, d = c == ctx ? 1h : 2h] {
        check_passed(start, d);
        called.send();
      });
    }
    sleep_for(1h);
    cancel();
    called.receive();
    called.receive();
    check_passed(start, 2h);
  });
}

// K4, TestTimerNondeterminism, TestSleepNondeterminism: each of those may be first, over the seeds.
template <class Start>
void expect_any_to_be_first(Start start) {
  for (int i = 0; i < 3; ++i) {
    const report r = explore({.schedules = 10'000}, [i, start] {
      const auto due = steady_clock::now() + 1h;
      const sley::chan<int> woken(3);
      start(due, woken);
      check(*woken.receive() != i, "that one is first");
      woken.receive();
      woken.receive();
    });
    EXPECT_EQ(r.kind, failure::check) << i << " is never first: " << r.to_string();
  }
}

TEST(clock, of_sleeps_that_end_together_any_is_the_first) {
  expect_any_to_be_first([](auto due, const sley::chan<int>& woken) {
    for (int i = 0; i < 3; ++i) {
      sley::go([=] {
        sleep_until(due);
        woken.send(i);
      });
    }
  });
}

TEST(clock, of_functions_that_are_due_together_any_is_the_first) {
  expect_any_to_be_first([](auto due, const sley::chan<int>& woken) {
    for (int i = 0; i < 3; ++i) {
      sley::after_func(due - steady_clock::now(), [=] { woken.send(i); });
    }
  });
}

// TestDeadlockRoot, TestDeadlockChild: and a timer that is still to fire is none.
TEST(clock, a_deadlock_is_reported_when_no_timer_is_left) {
  for (const int procs : {1, 4}) {
    const report r = explore({.schedules = 1, .procs = procs}, [] {
      const sley::chan<int> never;
      sley::wait_group all;
      all.go([=] { never.receive(); });
      sleep_for(1h);
      std::puts("it was not reported before");
      all.wait();
    });
    EXPECT_EQ(r.kind, failure::deadlock) << r.to_string();
    EXPECT_NE(r.message.find("it was not reported before"), std::string::npos) << r.to_string();
    EXPECT_NE(r.message.find("deadlock"), std::string::npos) << r.to_string();
    EXPECT_NE(r.message.find("wait_group"), std::string::npos) << r.to_string();
  }
  expect_clean([] {
    const sley::chan<void> late;
    sley::after_func(24h, [late] { late.send(); });
    late.receive();
  });
}

}  // namespace
