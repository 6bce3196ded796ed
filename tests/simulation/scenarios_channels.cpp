// Channels, select and timers.
#include "scenarios.hpp"

#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sley_test {

namespace {

using namespace std::chrono_literals;
using sley::testing::check;
using std::chrono::steady_clock;

// Each sender's values come in the order in which they were sent, and none twice.
void many_to_many(std::size_t capacity) {
  constexpr int senders = 3;
  constexpr int each = 8;
  const sley::chan<int> c(capacity);
  sley::wait_group sending;
  for (int s = 0; s < senders; ++s) {
    sending.go([=] {
      for (int i = 0; i < each; ++i) c.send(s * each + i);
    });
  }
  sley::wait_group receiving;
  int got = 0;
  sley::mutex m;
  for (int r = 0; r < 2; ++r) {
    receiving.go([&] {
      std::vector<int> next(senders, 0);
      for (const int v : c) {
        const auto s = static_cast<std::size_t>(v / each);
        check(v % each >= next[s], "in order");
        next[s] = v % each + 1;
        const std::lock_guard held(m);
        ++got;
      }
    });
  }
  sending.wait();
  c.close();
  receiving.wait();
  check(got == senders * each, "all values come");
}

void unbuffered() { many_to_many(0); }
void buffered() { many_to_many(2); }

void close_wakes_every_receiver() {
  const sley::chan<int> c;
  sley::wait_group all;
  int refused = 0;
  sley::mutex m;
  for (int i = 0; i < 3; ++i) {
    all.go([=] { check(!c.receive().has_value(), "nothing was sent"); });
  }
  const sley::chan<int> full;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      try {
        full.send(1);
      } catch (const sley::channel_closed&) {
        const std::lock_guard held(m);
        ++refused;
      }
    });
  }
  c.close();
  full.close();
  all.wait();
  check(refused == 3, "every sender is told");
}

void values_that_only_move() {
  sley::chan<std::unique_ptr<int>> c(1);
  sley::go([=] {
    for (int i = 0; i < 5; ++i) c.send(std::make_unique<int>(i));
    c.close();
  });
  int next = 0;
  for (const std::unique_ptr<int>& p : c) check(*p == next++, "in order");
  check(next == 5, "all come");
}

void tries_with_deadlines() {
  const sley::chan<int> c;
  sley::wait_group all;
  int sent = 0;
  int received = 0;
  all.go([&] {
    for (int i = 0; i < 5; ++i) {
      int v = i;
      if (c.try_send_for(v, 1us) == sley::chan_status::ok) ++sent;
    }
  });
  all.go([&] {
    for (int i = 0; i < 5; ++i) {
      int v = 0;
      if (c.try_receive_for(v, 1us) == sley::chan_status::ok) ++received;
    }
  });
  all.wait();
  check(sent == received, "what is sent is received");
}

// Two selects, each of which can send to the other and receive from it.
void selects_that_meet() {
  const sley::chan<int> a;
  const sley::chan<int> b;
  std::atomic<int> balance = 0;
  sley::wait_group all;
  const auto meet = [&](const sley::chan<int>& out, const sley::chan<int>& in) {
    for (int i = 0; i < 6; ++i) {
      sley::select(sley::on_send(out, 1, [&] { ++balance; }),
                   sley::on_receive(in, [&](std::optional<int> v) { balance -= v.value_or(0); }),
                   sley::on_timeout(10us, [] {}));
    }
  };
  all.go([&] { meet(a, b); });
  all.go([&] { meet(b, a); });
  all.wait();
  check(balance == 0, "what is sent is received");
}

void select_against_close() {
  const sley::chan<int> values(1);
  const sley::chan<void> stop;
  sley::wait_group all;
  int sent = 0;
  int received = 0;
  all.go([&] {
    bool is_over = false;
    while (!is_over) {
      sley::select(sley::on_send(values, 1, [&] { ++sent; }),
                   sley::on_receive(stop, [&](bool) { is_over = true; }));
    }
    values.close();
  });
  all.go([&] {
    while (values.receive()) {
      if (++received == 5) stop.close();
    }
  });
  all.wait();
  check(sent == received, "what is sent is received");
}

void same_channel_in_many_cases() {
  const sley::chan<int> c;
  sley::wait_group all;
  int got = 0;
  for (int i = 0; i < 2; ++i) all.go([=] { c.send(1); });
  const auto take = [&](std::optional<int> v) { got += v.value_or(0); };
  for (int i = 0; i < 2; ++i) {
    sley::select(sley::on_receive(c, take), sley::on_receive(c, take), sley::on_receive(c, take));
  }
  all.wait();
  check(got == 2, "each value comes once");
}

void sleepers_wake_in_order() {
  const auto start = steady_clock::now();
  std::vector<int> woken;
  sley::mutex m;
  sley::wait_group all;
  for (const int ms : {30, 10, 20}) {
    all.go([&, ms] {
      sley::this_goroutine::sleep_until(start + std::chrono::milliseconds(ms));
      check(steady_clock::now() - start >= std::chrono::milliseconds(ms), "never early");
      const std::lock_guard held(m);
      woken.push_back(ms);
    });
  }
  all.wait();
  check(woken.size() == 3, "every receiver wakes");
}

// After stop() or reset() no value of before comes.
void timers_stopped_and_reset() {
  sley::timer t(1ms);
  for (int i = 0; i < 5; ++i) {
    sley::this_goroutine::sleep_for(std::chrono::microseconds(900 + 50 * i));
    const auto from = steady_clock::now();
    t.reset(1ms);
    check(*t.channel().receive() - from >= 1ms, "no stale value");
  }
  t.reset(1ms);
  t.stop();
  sley::this_goroutine::sleep_for(2ms);
  sley::chan_status seen = sley::chan_status::ok;
  steady_clock::time_point ignored;
  seen = t.channel().try_receive(ignored);
  check(seen == sley::chan_status::would_block, "no value after stop");
}

// How long a function waits for its turn is the schedule's to say, so each tells its end.
void functions_run_once_or_are_stopped() {
  int ran = 0;
  int stopped = 0;
  sley::mutex m;
  sley::wait_group all;
  sley::wait_group ends;
  const auto count = [&](int& which) {
    const std::lock_guard held(m);
    ++which;
    ends.done();
  };
  ends.add(4);
  for (int i = 0; i < 4; ++i) {
    all.go([&] {
      auto t = sley::after_func(5us, [&] { count(ran); });
      sley::this_goroutine::sleep_for(5us);
      if (t.stop()) count(stopped);
    });
  }
  all.wait();
  ends.wait();
  sley::this_goroutine::sleep_for(10ms);
  const std::lock_guard held(m);
  check(ran + stopped == 4, "each runs, or is stopped");
}

constexpr scenario scenarios[] = {
    {"unbuffered", unbuffered},
    {"buffered", buffered},
    {"close_wakes_every_receiver", close_wakes_every_receiver},
    {"values_that_only_move", values_that_only_move},
    {"tries_with_deadlines", tries_with_deadlines},
    {"selects_that_meet", selects_that_meet},
    {"select_against_close", select_against_close},
    {"same_channel_in_many_cases", same_channel_in_many_cases},
    {"sleepers_wake_in_order", sleepers_wake_in_order},
    {"timers_stopped_and_reset", timers_stopped_and_reset},
    {"functions_run_once_or_are_stopped", functions_run_once_or_are_stopped},
};

}  // namespace

std::span<const scenario> channel_scenarios() { return scenarios; }

}  // namespace sley_test
