// Timers of all kinds: each that was armed has fired or was stopped, once, and none too early.
#include "soak/soak.hpp"

#include <sley/time.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

using sley::chan;
using sley::chan_status;
using sley::wait_group;
using sley_test::random_source;
using sley_test::rounds;
using soak::count;
using soak::tally;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

nanoseconds a_while(random_source& random) {
  return random.below(random.one_in(20) ? 20'000'000 : 500'000) * 1ns;
}

void sleep_well(random_source& random) {
  wait_group group;
  const auto number = 1 + random.below(static_cast<std::uint64_t>(rounds(1000)));
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([own = random_source(random())]() mutable {
      for (int k = 0; k < 5; ++k) {
        const auto end = steady_clock::now() + a_while(own);
        sley::this_goroutine::sleep_until(end);
        EXPECT_GE(steady_clock::now(), end);
      }
    });
  }
  group.wait();
  count(tally::timers, 5 * number);
}

// One stops and resets a timer while another receives from it: each time that it was armed ends in
// one value or in one answer that it was kept from firing.
void reset_and_stop(random_source& random) {
  wait_group group;
  std::atomic<std::uint64_t> armings{0};
  const auto number = 1 + random.below(20);
  for (std::uint64_t i = 0; i < number; ++i) {
    group.go([&armings, own = random_source(random())]() mutable {
      sley::timer timer(a_while(own));
      std::uint64_t armed = 1;
      std::uint64_t prevented = 0;
      std::uint64_t received = 0;
      const chan<void> stop;
      wait_group receiving;
      receiving.go([&received, &stop, fires = timer.channel()] {
        for (bool goes_on = true; goes_on;) {
          sley::select(sley::on_receive(fires, [&](auto) { ++received; }),
                       sley::on_receive(stop, [&](bool) { goes_on = false; }));
        }
      });
      for (int k = rounds(100); k > 0; --k) {
        if (own.one_in(4)) {
          prevented += timer.stop() ? 1 : 0;
        } else {
          prevented += timer.reset(a_while(own)) ? 1 : 0;
          ++armed;
        }
        if (own.one_in(2)) sley::this_goroutine::sleep_for(own.below(400) * 1us);
      }
      prevented += timer.stop() ? 1 : 0;
      stop.close();
      receiving.wait();
      EXPECT_EQ(armed, prevented + received);
      armings += armed;
    });
  }
  group.wait();
  count(tally::timers, armings);
}

// A function is called as often as its timer was armed and not stopped in time.
void call_functions(random_source& random) {
  wait_group calls;
  std::atomic<std::uint64_t> called{0};
  std::uint64_t armed = 0;
  std::uint64_t prevented = 0;
  std::vector<sley::timer> timers;
  const auto keep = [&](bool was_pending) {
    if (!was_pending) return;
    ++prevented;
    calls.done();
  };
  for (int i = 1 + random.index(static_cast<std::size_t>(rounds(300))); i > 0; --i) {
    ++armed;
    calls.add(1);
    timers.push_back(sley::after_func(a_while(random), [&] {
      ++called;
      calls.done();
    }));
  }
  for (int k = rounds(300); k > 0; --k) {
    sley::timer& timer = timers[random.below(timers.size())];
    if (random.one_in(3)) {
      keep(timer.stop());
    } else {
      ++armed;
      calls.add(1);
      keep(timer.reset(a_while(random)));
    }
    if (random.one_in(10)) sley::this_goroutine::sleep_for(random.below(300) * 1us);
  }
  calls.wait();
  EXPECT_EQ(called + prevented, armed);
  count(tally::timers, armed);
}

void tick(random_source& random) {
  sley::ticker ticker((50 + random.below(2000)) * 1us);
  auto last = steady_clock::time_point{};
  const auto ticks = 1 + random.below(10);
  for (std::uint64_t i = 0; i < ticks; ++i) {
    const auto now = ticker.channel().receive();
    EXPECT_GT(now.value(), last);
    last = *now;
    if (random.one_in(5)) ticker.reset((50 + random.below(500)) * 1us);
    if (random.one_in(5)) sley::this_goroutine::sleep_for(random.below(1000) * 1us);
  }
  ticker.stop();
  EXPECT_EQ(ticker.channel().try_receive(last), chan_status::would_block) << "stale after stop";
  count(tally::timers, ticks);
}

// Many timers that no variable refers to any more, and waits that end before their time.
void race_against_time(random_source& random) {
  wait_group group;
  const auto number = 1 + random.below(static_cast<std::uint64_t>(rounds(300)));
  std::atomic<std::uint64_t> values{0}, ends{0};
  for (std::uint64_t i = 0; i < number; ++i) {
    const chan<int> c(1);
    group.go([c, d = a_while(random)] {
      sley::this_goroutine::sleep_for(d);
      c.send(1);
    });
    group.go([&values, &ends, c, d = a_while(random)] {
      sley::select(sley::on_receive(c, [&](auto) { ++values; }),
                   sley::on_receive(sley::after(d), [&](auto) { ++ends; }));
    });
  }
  group.wait();
  EXPECT_EQ(values + ends, number);
  count(tally::timers, 2 * number);
}

}  // namespace

SOAK_LAP(time_sleep) { sleep_well(random); }
SOAK_LAP(time_reset) { reset_and_stop(random); }
SOAK_LAP(time_functions) { call_functions(random); }
SOAK_LAP(time_ticker) { tick(random); }
SOAK_LAP(time_races) { race_against_time(random); }
