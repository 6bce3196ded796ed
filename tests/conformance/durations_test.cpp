// Aim: every duration and every time that a function takes means what it says at both ends. The
// largest is no limit, whatever its unit; all that is not positive, and what is no number, is over
// at once; no conversion overflows in the caller. Method: each function with each such value. A
// wait without limit has parked and ends by what it waits for. Here: the types, sleeping, channels,
// timers and contexts.
#include "support/child.hpp"
#include "support/durations.hpp"
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/select.hpp>
#include <sley/time.hpp>
#include <sley/time_span.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ratio>
#include <stdexcept>
#include <thread>
#include <type_traits>

using sley::chan;
using sley::chan_status;
using sley::instant;
using sley::time_point;
using sley::time_span;
using sley::this_goroutine::sleep_for;
using sley::this_goroutine::sleep_until;
using sley_test::expect_for_ever;
using sley_test::go_until_parked;
using sley_test::infinity;
using sley_test::not_a_number;
using sley_test::steady_time;
using sley_test::with_each_steady_time_that_is_past;
using sley_test::with_each_steady_time_that_never_comes;
using sley_test::with_each_that_is_over;
using sley_test::with_each_that_never_ends;
using sley_test::with_each_time_that_is_past;
using sley_test::with_each_time_that_never_comes;
using namespace std::chrono_literals;
using std::chrono::duration;
using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

// ---- the types ----

static_assert(time_span() == 0ns);
static_assert(time_span(5s) == 5s);
static_assert(time_span(nanoseconds::max()) == nanoseconds::max());
static_assert(time_span(nanoseconds::min()) == nanoseconds::min());
static_assert(time_span(hours::max()) == nanoseconds::max());
static_assert(time_span(hours::min()) == nanoseconds::min());
static_assert(time_span(hours(2'562'047)) == hours(2'562'047), "the most that fit");
static_assert(time_span(hours(2'562'048)) == nanoseconds::max());
static_assert(time_span(hours(-2'562'048)) == nanoseconds::min());
static_assert(time_span(duration<double>(infinity)) == nanoseconds::max());
static_assert(time_span(duration<double>(-infinity)) == nanoseconds::min());
static_assert(time_span(duration<double>(not_a_number)) == 0ns);
static_assert(time_span(duration<double>(0.25)) == 250ms);
static_assert(time_span(duration<double, std::nano>(3)) == 3ns);
static_assert(time_span(duration<double, std::nano>(0.1)) == 1ns, "no wait is over early");
static_assert(time_span(duration<double, std::nano>(-0.1)) == 0ns);
static_assert(time_span(duration<int, std::pico>(1001)) == 2ns);
static_assert(time_span(duration<int, std::pico>(-1001)) == -1ns);
static_assert(time_span(duration<std::int64_t, std::atto>::max()) == 9'223'372'037ns);
static_assert(time_span(duration<std::int64_t, std::ratio<1, 60>>(1)) == 16'666'667ns);
static_assert(time_span(duration<std::int64_t, std::ratio<1, 60>>(550'000'000'000)) >
              9'000'000'000s);
static_assert(time_span(duration<signed char, std::ratio<3600>>::max()) == 127h);
static_assert(time_span(duration<std::uint64_t, std::nano>::max()) == nanoseconds::max());
static_assert(time_span(duration<int, std::ratio<31'556'952'000>>(1)) == nanoseconds::max(),
              "a thousand years");
static_assert(time_span(duration<int, std::exa>(-1)) == nanoseconds::min());
static_assert(instant(steady_time<hours>::max()) == time_point::max());
static_assert(instant(steady_time<hours>::min()) == time_point::min());
static_assert(instant(time_point(5s)) == time_point(5s));
static_assert(std::is_convertible_v<time_span, nanoseconds>);
static_assert(std::is_convertible_v<instant, time_point>);
static_assert(!std::is_convertible_v<system_clock::time_point, instant>);
static_assert(!std::is_convertible_v<int, time_span>);

// ---- sleeping ----

// The goroutines that sleep never end: they are a process's own, which ends.
CHILD_MAIN(sleeps_for_ever) {
  return sley::run([] {
    with_each_that_never_ends([](auto d) { go_until_parked([d] { sleep_for(d); }); });
    with_each_time_that_never_comes([](auto t) { go_until_parked([t] { sleep_until(t); }); });
    with_each_that_never_ends([](auto d) { go_until_parked([d] { sley::after(d).receive(); }); });
    with_each_that_never_ends(
        [](auto d) { go_until_parked([d] { sley::select(sley::on_timeout(d)); }); });
    with_each_that_never_ends([](auto d) {
      go_until_parked([d] {
        sley::select_set set;
        set.add_timeout(d);
        set.wait();
      });
    });
    return sley_test::verdict();
  });
}
TEST(durations, the_longest_sleep_is_for_ever) {
  const auto child = sley_test::run_child("sleeps_for_ever");
  EXPECT_EQ(child.status, 7) << child;
}

CHILD_MAIN(threads_sleep_for_ever) {
  static std::atomic<int> ended = 0;
  std::atomic<int> begun = 0;
  for (int i = 0; i < 4; ++i) {
    std::thread([&begun, i] {
      ++begun;
      if (i == 0) sleep_for(hours::max());
      if (i == 1) sleep_until(steady_time<hours>::max());
      if (i == 2) sleep_until(system_clock::time_point::max());
      if (i == 3) chan<void>().try_receive_for(seconds::max());
      ++ended;
    }).detach();
  }
  while (begun != 4) std::this_thread::yield();
  std::this_thread::sleep_for(50ms);  // what ended early has ended by then, most likely
  return ended == 0 ? 7 : 3;
}
TEST(durations, the_longest_sleep_of_a_foreign_thread_is_for_ever) {
  const auto child = sley_test::run_child("threads_sleep_for_ever");
  EXPECT_EQ(child.status, 7) << child;
}

GO_TEST(durations, a_sleep_that_is_over_ends_at_once) {
  with_each_that_is_over([](auto d) { sleep_for(d); });
  with_each_time_that_is_past([](auto t) { sleep_until(t); });
}

GO_TEST(durations, a_sleep_until_a_time_of_another_clock_is_not_over_early) {
  const auto at = std::chrono::ceil<seconds>(system_clock::now());
  sleep_until(at);
  EXPECT_GE(system_clock::now(), at);
  const auto file = std::chrono::file_clock::now() + 5ms;
  sleep_until(file);
  EXPECT_GE(std::chrono::file_clock::now(), file);
}

// ---- channels and select ----

GO_TEST(durations, channels_wait_without_limit) {
  with_each_that_never_ends([](auto d) {
    const chan<int> c;
    expect_for_ever(
        [=] {
          int out = 0;
          EXPECT_EQ(c.try_receive_for(out, d), chan_status::ok);
          EXPECT_EQ(c.try_send_for(out + 1, d), chan_status::ok);
          EXPECT_EQ(c.try_send_for(out, d), chan_status::closed);
        },
        [=] {
          c.send(1);
          EXPECT_EQ(c.receive(), 2);
          sley_test::let_others_run();
          c.close();
        });
    const chan<void> signals;
    expect_for_ever([=] { EXPECT_EQ(signals.try_receive_for(d), chan_status::ok); },
                    [=] { signals.send(); });
    expect_for_ever([=] { EXPECT_EQ(signals.try_send_for(d), chan_status::ok); },
                    [=] { signals.receive(); });
  });
}

GO_TEST(durations, channels_try_once_where_the_time_is_over) {
  with_each_that_is_over([](auto d) {
    const chan<int> c(1);
    int out = 0;
    EXPECT_EQ(c.try_receive_for(out, d), chan_status::timeout);
    EXPECT_EQ(c.try_send_for(1, d), chan_status::ok);
    EXPECT_EQ(c.try_send_for(1, d), chan_status::timeout);
    EXPECT_EQ(c.try_receive_for(out, d), chan_status::ok);
    const chan<void> signals;
    EXPECT_EQ(signals.try_receive_for(d), chan_status::timeout);
    EXPECT_EQ(signals.try_send_for(d), chan_status::timeout);
  });
}

GO_TEST(durations, a_select_waits_without_limit) {
  with_each_that_never_ends([](auto d) {
    const chan<int> c;
    expect_for_ever([=] { EXPECT_EQ(sley::select(sley::on_timeout(d), sley::on_receive(c)), 1U); },
                    [=] { c.send(1); });
    expect_for_ever(
        [=] {
          sley::select_set set;
          set.add_timeout(d);
          set.add_receive(c);
          EXPECT_EQ(set.wait(), 1U);
        },
        [=] { c.send(1); });
  });
}

GO_TEST(durations, a_select_tries_its_other_cases_where_the_time_is_over) {
  with_each_that_is_over([](auto d) {
    const chan<int> c(1);
    EXPECT_EQ(sley::select(sley::on_timeout(d), sley::on_receive(c)), 0U);
    c.send(1);
    EXPECT_EQ(sley::select(sley::on_timeout(d), sley::on_receive(c)), 1U);
  });
}

// ---- timers and contexts ----

GO_TEST(durations, timers_of_the_longest_never_fire) {
  with_each_that_never_ends([](auto d) {
    sley::timer t(d);
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.reset(d));
    const auto channel = t.channel();
    expect_for_ever([=] { EXPECT_TRUE(channel.receive()); }, [&] { EXPECT_TRUE(t.reset(0s)); });
    sley::timer f = sley::after_func(d, [] { FAIL() << "it fires"; });
    sley_test::let_others_run();
    EXPECT_TRUE(f.reset(d));
    EXPECT_TRUE(f.stop());
    sley::ticker ticks(d);
    const auto ticking = ticks.channel();
    expect_for_ever([=] { EXPECT_TRUE(ticking.receive()); }, [&] { ticks.reset(1ns); });
    ticks.reset(d);
  });
}

GO_TEST(durations, timers_that_are_due_fire_at_once) {
  with_each_that_is_over([](auto d) {
    EXPECT_TRUE(sley::after(d).receive());
    sley::timer t(d);
    EXPECT_TRUE(t.channel().receive());
    t.reset(d);
    EXPECT_TRUE(t.channel().receive());
    const chan<void> fired;
    const sley::timer f = sley::after_func(d, [=] { fired.send(); });
    fired.receive();
    EXPECT_THROW(sley::ticker{d}, std::invalid_argument);
    sley::ticker ticks(1h);
    EXPECT_THROW(ticks.reset(d), std::invalid_argument);
  });
}

GO_TEST(durations, contexts_of_the_longest_have_no_deadline) {
  with_each_that_never_ends([](auto d) {
    const auto [ctx, cancel] = sley::with_timeout({}, d);
    EXPECT_FALSE(ctx.deadline());
    expect_for_ever([c = ctx] { c.done().receive(); }, cancel);
    EXPECT_EQ(ctx.error(), sley::context_errc::canceled);
    const auto [below, cancel_below] = sley::with_timeout({}, 1h);
    EXPECT_EQ(sley::with_timeout(below, d).first.deadline(), below.deadline());
  });
  with_each_steady_time_that_never_comes([](auto t) {
    const auto [ctx, cancel] = sley::with_deadline({}, t);
    EXPECT_FALSE(ctx.deadline());
    EXPECT_FALSE(ctx.error());
  });
}

GO_TEST(durations, contexts_past_their_deadline_have_ended) {
  with_each_that_is_over([](auto d) {
    EXPECT_EQ(sley::with_timeout({}, d).first.error(), sley::context_errc::deadline_exceeded);
  });
  with_each_steady_time_that_is_past([](auto t) {
    EXPECT_EQ(sley::with_deadline({}, t).first.error(), sley::context_errc::deadline_exceeded);
  });
}
