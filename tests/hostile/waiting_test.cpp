// Hostile arguments of what waits and is counted: channels, timers, locks, contexts. See
// hostile/hostile.hpp.
#include "hostile/hostile.hpp"

#include <sley/select.hpp>
#include <sley/sync.hpp>

#include <mutex>
#include <optional>
#include <ratio>
#include <stop_token>

#define SLEY_HOSTILE_HEADER hostile_waiting

using sley_hostile::arguments;
using sley_hostile::ended_by;
using sley_hostile::use;
using namespace std::chrono_literals;

namespace {

struct large {
  std::byte bytes[1000];
};

}  // namespace

// ---- channels and select ----

CALLS(chan, "chan::chan(size_t capacity)") {
  const std::size_t capacity = x.capacity(4);
  switch (x.pick<int>({0, 1, 2})) {
    case 0: return use(sley::chan<int>(capacity));
    case 1: return use(sley::chan<large>(capacity));
    default: return use(sley::chan<char>(capacity));
  }
}
CALLS(chan_negative, "chan::chan(size_t capacity)") {
  use(sley::chan<int>(x.number<int>(1) < 0 ? -1 : 1));
}

CALLS(try_send_for, "sending::try_send_for(element<T> value, duration d)",
      "sending::try_send_for(element<T>&& value, duration d)",
      "sending::try_send_for(duration d)") {
  const sley::chan<int> c;
  const sley::chan<void> signals;
  const auto d = x.duration();
  int value = 1;
  int got = 0;
  ended_by([&] { use(c.try_send_for(value, d)); }, [&] { use(c.try_receive(got)); });
  ended_by([&] { use(c.try_send_for(2, d)); }, [&] { use(c.try_receive(got)); });
  ended_by([&] { use(signals.try_send_for(d)); }, [&] { use(signals.try_receive()); });
}
CALLS(try_receive_for, "receiving::try_receive_for(element<T> out, duration d)",
      "receiving::try_receive_for(duration d)") {
  const sley::chan<int> c;
  const sley::chan<void> signals;
  const auto d = x.duration();
  int value = 0;
  ended_by([&] { use(c.try_receive_for(value, d)); }, [&] { use(c.try_send(1)); });
  ended_by([&] { use(signals.try_receive_for(d)); }, [&] { use(signals.try_send()); });
}

CALLS(on_timeout, "on_timeout(duration d, F f)") {
  const sley::chan<int> c;
  const auto d = x.duration();
  ended_by([&] { sley::select(sley::on_receive(c), sley::on_timeout(d)); },
           [&] { use(c.try_send(1)); });
}
CALLS(add_timeout, "select_set::add_timeout(duration d, F f)") {
  const sley::chan<int> c;
  sley::select_set set;
  set.add_receive(c);
  set.add_timeout(x.duration());
  ended_by([&] { set.wait(); }, [&] { use(c.try_send(1)); });
}

// ---- durations and times of every unit ----

CALLS(time_span, "time_span::time_span(duration d)") {
  const auto n = x.number<std::int64_t>(1);
  use(sley::time_span(std::chrono::hours(n)));
  use(sley::time_span(std::chrono::duration<double, std::ratio<86'400>>(x.real(1))));
  EXPECT_EQ(sley::time_span(std::chrono::nanoseconds(n)).count(), n);
}
CALLS(instant, "instant::instant(time_point t)") {
  using clock = std::chrono::steady_clock;
  const auto n = x.number<std::int64_t>(1);
  const std::chrono::time_point<clock, std::chrono::hours> t{std::chrono::hours(n)};
  EXPECT_EQ(sley::instant(t) > clock::time_point(), n > 0);
}

// ---- timers ----

CALLS(sleep_for, "this_goroutine::sleep_for(duration d)") {
  const auto d = x.duration();
  if (sley_test::go_until_parked_or_ended([d] { sley::this_goroutine::sleep_for(d); })) {
    x.abandon(1);
  }
}
CALLS(sleep_until, "this_goroutine::sleep_until(time_point t)") {
  const auto t = x.time();
  if (sley_test::go_until_parked_or_ended([t] { sley::this_goroutine::sleep_until(t); })) {
    x.abandon(1);
  }
}

CALLS(sleep_with_a_context, "this_goroutine::sleep_for(duration d, context ctx)",
      "this_goroutine::sleep_for(duration d, context ctx, error_code error)",
      "this_goroutine::sleep_until(time_point t, context ctx)",
      "this_goroutine::sleep_until(time_point t, context ctx, error_code error)") {
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  const int which = x.pick<int>({0, 1, 2, 3});
  const auto d = which < 2 ? x.duration() : 0ns;
  const auto t = which < 2 ? sley::time_point() : x.time();
  const auto sleep = [&x, d, t, which, held = ctx] {
    if (which == 0) sley::this_goroutine::sleep_for(d, held);
    if (which == 1) sley::this_goroutine::sleep_for(d, held, x.error());
    if (which == 2) sley::this_goroutine::sleep_until(t, held);
    if (which == 3) sley::this_goroutine::sleep_until(t, held, x.error());
  };
  ended_by(sleep, [c = cancel] { c(); });
}

CALLS(timer, "timer::timer(duration d)", "timer::reset(duration d)") {
  sley::timer t(x.duration());
  t.reset(x.duration());
  t.stop();
}
CALLS(after_func, "after_func(duration d, F f)") {
  sley::timer t = sley::after_func(x.duration(1h), [] {});
  t.stop();
}
CALLS(after, "after(duration d)") { use(sley::after(x.duration()).size()); }
CALLS(ticker, "ticker::ticker(duration d)", "ticker::reset(duration d)") {
  sley::ticker t(x.duration(1h));
  t.reset(x.duration(1h));
  t.stop();
}

TEST(hostile_waiting, the_longest_wait_has_not_ended) {
  sley::run([] {
    constexpr auto longest = std::chrono::nanoseconds::max();
    constexpr auto latest = sley::time_point::max();
    sley::timer t(longest);
    sley::ticker ticks(longest);
    auto [timed, cancel_timed] = sley::with_timeout(sley::context::background(), longest);
    auto [dead, cancel_dead] = sley::with_deadline(sley::context::background(), latest);
    sley_test::let_others_run();
    EXPECT_TRUE(t.stop());
    EXPECT_EQ(ticks.channel().size(), 0U);
    EXPECT_FALSE(timed.error());
    EXPECT_FALSE(dead.error());
    ticks.stop();
    cancel_timed();
    cancel_dead();
  });
}

TEST(hostile_waiting, a_wait_that_is_over_before_it_begins_has_ended) {
  sley::run([] {
    for (const auto d : {std::chrono::nanoseconds::min(), std::chrono::nanoseconds(-1)}) {
      sley::this_goroutine::sleep_for(d);
      sley::after(d).receive();
      EXPECT_EQ(sley::chan<int>().try_send_for(1, d), sley::chan_status::timeout);
      auto [timed, cancel] = sley::with_timeout(sley::context::background(), d);
      EXPECT_TRUE(timed.error());
    }
    sley::this_goroutine::sleep_until(sley::time_point::min());
    auto [dead, cancel] = sley::with_deadline(sley::context::background(), sley::time_point::min());
    EXPECT_TRUE(dead.error());
  });
}

// ---- contexts ----

CALLS(with_timeout, "with_timeout(context parent, duration d, exception_ptr cause)") {
  auto [ctx, cancel] = sley::with_timeout(sley::context::background(), x.duration());
  use(ctx.to_string());
  cancel();
}
CALLS(with_deadline, "with_deadline(context parent, time_point when, exception_ptr cause)") {
  auto [ctx, cancel] = sley::with_deadline(sley::context::background(), x.time());
  use(ctx.deadline());
  cancel();
}
CALLS(with_value, "with_value(context parent, string_view key, T value)",
      "context::value(string_view key)") {
  const std::string_view key = x.text("user");
  const sley::context ctx = sley::with_value(sley::context::background(), key, 7);
  ASSERT_NE(ctx.value<int>(key), nullptr);
  EXPECT_EQ(ctx.value<long>(key), nullptr);
  use(ctx.to_string());
}

// ---- locks ----

CALLS(mutex, "mutex::try_lock_for(duration d)", "mutex::try_lock_until(time_point t)") {
  sley::mutex m;
  m.lock();
  const auto d = x.duration();
  const auto t = x.time();
  const auto unlock = [&] { m.unlock(); };
  if (x.pick<bool>({false, true})) {
    ended_by(
        [&] {
          if (m.try_lock_for(d)) m.unlock();
        },
        unlock);
  } else {
    ended_by(
        [&] {
          if (m.try_lock_until(t)) m.unlock();
        },
        unlock);
  }
  if (!m.try_lock())
    m.unlock();  // the time was up first
  else
    m.unlock();
}

CALLS(shared_mutex, "shared_mutex::try_lock_for(duration d)",
      "shared_mutex::try_lock_until(time_point t)", "shared_mutex::try_lock_shared_for(duration d)",
      "shared_mutex::try_lock_shared_until(time_point t)") {
  sley::shared_mutex m;
  std::unique_lock held(m);
  const auto d = x.duration();
  const auto t = x.time();
  const int which = x.pick<int>({0, 1, 2, 3});
  ended_by(
      [&] {
        if (which == 0 && m.try_lock_for(d)) m.unlock();
        if (which == 1 && m.try_lock_until(t)) m.unlock();
        if (which == 2 && m.try_lock_shared_for(d)) m.unlock_shared();
        if (which == 3 && m.try_lock_shared_until(t)) m.unlock_shared();
      },
      [&] { held.unlock(); });
}

CALLS(condition_variable, "condition_variable::wait_for(lock_type lock, duration d)",
      "condition_variable::wait_for(lock_type lock, duration d, Predicate predicate)",
      "condition_variable::wait_until(lock_type lock, time_point t)",
      "condition_variable::wait_until(lock_type lock, time_point t, Predicate predicate)") {
  sley::mutex m;
  sley::condition_variable changed;
  bool is_over = false;
  const auto d = x.duration();
  const auto t = x.time();
  const int which = x.pick<int>({0, 1, 2, 3});
  const auto over = [&] { return is_over; };
  ended_by(
      [&] {
        std::unique_lock lock(m);
        if (which == 0) changed.wait_for(lock, d);
        if (which == 1) changed.wait_for(lock, d, over);
        if (which == 2) changed.wait_until(lock, t);
        if (which == 3) changed.wait_until(lock, t, over);
      },
      [&] {
        const std::lock_guard guard(m);
        is_over = true;
        changed.notify_all();
      });
}

CALLS(condition_variable_any, "condition_variable_any::wait_for(Lock lock, duration d)",
      "condition_variable_any::wait_for(Lock lock, duration d, Predicate predicate)",
      "condition_variable_any::wait_for(Lock lock, stop_token stop, duration d, Predicate "
      "predicate)",
      "condition_variable_any::wait_until(Lock lock, time_point t)",
      "condition_variable_any::wait_until(Lock lock, time_point t, Predicate predicate)",
      "condition_variable_any::wait_until(Lock lock, stop_token stop, time_point t, Predicate "
      "predicate)") {
  sley::mutex m;
  sley::condition_variable_any changed;
  std::stop_source stop;
  bool is_over = false;
  const auto d = x.duration();
  const auto t = x.time();
  const int which = x.pick<int>({0, 1, 2, 3, 4, 5});
  const auto over = [&] { return is_over; };
  ended_by(
      [&] {
        std::unique_lock lock(m);
        if (which == 0) changed.wait_for(lock, d);
        if (which == 1) changed.wait_for(lock, d, over);
        if (which == 2) changed.wait_for(lock, stop.get_token(), d, over);
        if (which == 3) changed.wait_until(lock, t);
        if (which == 4) changed.wait_until(lock, t, over);
        if (which == 5) changed.wait_until(lock, stop.get_token(), t, over);
      },
      [&] {
        const std::lock_guard guard(m);
        is_over = true;
        changed.notify_all();
      });
}

CALLS(future, "future_handle::wait_for(duration d)", "future_handle::wait_until(time_point t)") {
  sley::promise<int> p;
  const sley::shared_future<int> f = p.get_future().share();
  const auto d = x.duration();
  const auto t = x.time();
  const bool waits_for = x.pick<bool>({false, true});
  ended_by([&] { use(waits_for ? f.wait_for(d) : f.wait_until(t)); }, [&] { p.set_value(1); });
}

// ---- counts ----

CALLS(counting_semaphore, "counting_semaphore::counting_semaphore(ptrdiff_t count)",
      "counting_semaphore::release(ptrdiff_t n)") {
  sley::counting_semaphore<> s(x.number<std::ptrdiff_t>(1));
  s.release(x.number<std::ptrdiff_t>(1));
}
CALLS(counting_semaphore_waits, "counting_semaphore::try_acquire_for(duration d)",
      "counting_semaphore::try_acquire_until(time_point t)") {
  sley::counting_semaphore<> s(0);
  const auto d = x.duration();
  const auto t = x.time();
  const bool waits_for = x.pick<bool>({false, true});
  ended_by([&] { use(waits_for ? s.try_acquire_for(d) : s.try_acquire_until(t)); },
           [&] { s.release(); });
}

CALLS(weighted_semaphore, "weighted_semaphore::weighted_semaphore(int64_t n)",
      "weighted_semaphore::try_acquire(int64_t k)", "weighted_semaphore::release(int64_t k)") {
  sley::weighted_semaphore s(x.number<std::int64_t>(5));
  const std::int64_t k = x.number<std::int64_t>(1);
  if (s.try_acquire(k)) s.release(k);
  s.release(x.number<std::int64_t>(0));
}
CALLS(weighted_semaphore_acquire, "weighted_semaphore::acquire(int64_t k)") {
  sley::weighted_semaphore s(std::numeric_limits<std::int64_t>::max());
  s.acquire(x.number<std::int64_t>(1));
}
CALLS(weighted_semaphore_waits, "weighted_semaphore::acquire(context ctx, int64_t k)",
      "weighted_semaphore::acquire(context ctx, int64_t k, error_code error)",
      "weighted_semaphore::try_acquire_for(int64_t k, duration d)",
      "weighted_semaphore::try_acquire_until(int64_t k, time_point t)",
      "weighted_semaphore::try_acquire_unless(int64_t k, recv_chan<void> canceled)") {
  sley::weighted_semaphore s(5);
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  const std::int64_t k = x.number<std::int64_t>(1);
  const int which = x.pick<int>({0, 1, 2, 3, 4});
  const auto d = which == 2 ? x.duration() : 0ns;
  const auto t = which == 3 ? x.time() : sley::time_point();
  const bool ends = k <= 5 || (which != 2 && which != 3);
  const auto acquire = [&s, &x, k, d, t, which, held = ctx] {
    if (which == 0) s.acquire(held, k);
    if (which == 1) s.acquire(held, k, x.error());
    if (which == 2) use(s.try_acquire_for(k, d));
    if (which == 3) use(s.try_acquire_until(k, t));
    if (which == 4) use(s.try_acquire_unless(k, held.done()));
  };
  // Waiting for more than there is ends with its time alone.
  const bool is_long = d > 1h || t > sley::time_point::clock::now() + 1h;
  if (!ends && is_long) return;
  ended_by(acquire, [&] { cancel(); });
}

CALLS(latch, "latch::latch(ptrdiff_t expected)", "latch::count_down(ptrdiff_t n)") {
  sley::latch l(x.number<std::ptrdiff_t>(3));
  l.count_down(x.number<std::ptrdiff_t>(1));
}
CALLS(latch_arrive, "latch::arrive_and_wait(ptrdiff_t n)") {
  sley::latch l(2);
  const auto n = x.number<std::ptrdiff_t>(2);
  ended_by([&] { l.arrive_and_wait(n); },
           [&] {
             while (!l.try_wait()) l.count_down(1);
           });
}
CALLS(barrier, "barrier::barrier(ptrdiff_t expected, Completion completion)",
      "barrier::arrive(ptrdiff_t n)") {
  sley::barrier b(x.number<std::ptrdiff_t>(3));
  use(b.arrive(x.number<std::ptrdiff_t>(1)));
}
CALLS(wait_group, "wait_group::add(int32_t n)") {
  sley::wait_group group;
  group.add(x.number<std::int32_t>(1));
  group.add(x.number<std::int32_t>(1));
}
CALLS(error_group, "error_group::set_limit(ptrdiff_t n)") {
  sley::error_group group;
  const auto n = x.number<std::ptrdiff_t>(1);
  group.set_limit(n);
  if (n == 0) return;  // no goroutine may start
  group.go([] {});
  group.wait();
}

CALLS(rate_limiter, "rate_limiter::rate_limiter(double per_second, int64_t burst)",
      "rate_limiter::allow(int64_t n)", "rate_limiter::reserve(int64_t n)") {
  sley::rate_limiter limiter(x.real(10), x.number<std::int64_t>(5));
  const auto n = x.number<std::int64_t>(1);
  use(limiter.allow(n));
  auto r = limiter.reserve(n);
  use(r.time());
  r.cancel();
  use(limiter.reserve(n).time());
  use(limiter.allow(n));
}
CALLS(rate_limiter_waits_with_a_context, "rate_limiter::wait(context ctx, int64_t n)",
      "rate_limiter::wait(context ctx, int64_t n, error_code error)") {
  sley::rate_limiter limiter(x.real(1e9), 1'000'000);
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  const auto n = x.number<std::int64_t>(1);
  const bool throws = x.pick<bool>({false, true});
  const auto wait = [&, held = ctx] {
    if (throws) {
      limiter.wait(held, n);
    } else {
      limiter.wait(held, n, x.error());
    }
  };
  ended_by(wait, [c = cancel] { c(); });
}
CALLS(rate_limiter_waits, "rate_limiter::wait(int64_t n)",
      "rate_limiter::try_wait_until(time_point deadline, int64_t n)") {
  sley::rate_limiter limiter(1e9, 1'000'000);
  const auto n = x.number<std::int64_t>(1);
  if (x.pick<bool>({false, true})) {
    limiter.wait(n);
  } else {
    use(limiter.try_wait_until(x.time(), n));
  }
}

// ---- goroutines and the runtime ----

CALLS(go, "go(go_options options, F f, Args... args)",
      "this_goroutine::set_name(string_view name)") {
  sley::go_options options{.name = x.text("name"), .stack_size = x.number<std::size_t>(65'536)};
  sley::chan<std::string> named;
  sley::go(options, [named, name = options.name] {
    sley::this_goroutine::set_name(name);
    named.send(std::string(sley::this_goroutine::name()));
  });
  EXPECT_LE(named.receive()->size(), 31U);
}
CALLS(run, "run(run_options options, F f)") {
  // In a goroutine it is refused.
  sley::run({.on_this_thread = x.pick<bool>({false, true})}, [] {});
}
CALLS(set_max_procs, "runtime::set_max_procs(int n)") {
  const int before = sley::runtime::max_procs();
  sley::runtime::set_max_procs(x.number(256));
  EXPECT_GE(sley::runtime::max_procs(), 1);
  EXPECT_LE(sley::runtime::max_procs(), 256);
  sley::runtime::set_max_procs(before);
}
CALLS(pool, "pool::pool(pool_options<T> options)") {
  sley::pool_options<std::string> options;
  const std::string_view made = x.text("made");
  if (x.pick<bool>({true, false})) {
    options.make = [made](const sley::context&) { return std::string(made); };
  }
  options.max = x.number<std::size_t>(2);
  options.max_idle = x.number<std::size_t>(1);
  options.idle_time = x.duration(1ms);
  sley::pool<std::string> pool(std::move(options));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*pool.acquire(), made);
  pool.close();
}
CALLS(set_blocking_limit, "runtime::set_blocking_limit(int n)") {
  const int before = sley::runtime::set_blocking_limit(x.number(4));
  sley::blocking([] {});
  sley::runtime::set_blocking_limit(before);
}
CALLS(set_max_threads, "runtime::set_max_threads(int n)") {
  const int n = x.number(10'000);
  if (n == 1) return;  // more are in use, which ends the process
  sley::runtime::set_max_threads(sley::runtime::set_max_threads(n));
}
