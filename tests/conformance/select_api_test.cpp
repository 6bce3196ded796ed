// select as <sley/select.hpp> spells it: every kind of case, fairness, errors, and what becomes of
// the values.
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using sley::chan;
using sley::on_receive;
using sley::on_send;
using sley::on_timeout;
using sley::otherwise;
using sley::select;
using sley_test::counted;
using sley_test::counted_check;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

// Pearson's statistic of counts that should be equal.
double chi_square(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

}  // namespace

GO_TEST(select_api, channels_and_views_of_them_can_be_cases) {
  const chan<int> c(4);
  const sley::send_chan<int> in = c;
  const sley::recv_chan<int> out = c;
  EXPECT_EQ(select(on_send(c, 1)), 0u);
  EXPECT_EQ(select(on_send(in, 2, [] {})), 0u);
  std::vector<int> got;
  const auto keep = [&](std::optional<int> value) { got.push_back(value.value_or(-1)); };
  EXPECT_EQ(select(on_receive(c, keep)), 0u);
  EXPECT_EQ(select(on_receive(out, keep)), 0u);
  c.close();
  EXPECT_EQ(select(on_receive(out, keep)), 0u);
  EXPECT_EQ(got, (std::vector<int>{1, 2, -1}));
}

GO_TEST(select_api, a_sent_value_is_converted_to_the_channels_type) {
  const chan<double> numbers(1);
  select(on_send(numbers, 5, [] {}));
  EXPECT_EQ(numbers.receive(), 5.0);
  const chan<std::string> texts(1);
  select(on_send(texts, "five"));
  EXPECT_EQ(texts.receive(), "five");
  const chan<std::optional<int>> optionals(1);
  select(on_send(optionals, 5));
  EXPECT_EQ(*optionals.receive(), 5);
}

GO_TEST(select_api, signals_are_sent_and_received) {
  const chan<void> c(1);
  const sley::send_chan<void> in = c;
  const sley::recv_chan<void> out = c;
  int calls = 0;
  EXPECT_EQ(select(on_send(c, [&] { ++calls; })), 0u);
  EXPECT_EQ(select(on_receive(c, [&](bool ok) { calls += ok ? 1 : 100; })), 0u);
  EXPECT_EQ(select(on_send(in)), 0u);
  EXPECT_EQ(select(on_receive(out)), 0u);
  c.close();
  EXPECT_EQ(select(on_receive(out, [&](bool ok) { calls += ok ? 100 : 1; })), 0u);
  EXPECT_EQ(calls, 3);
}

GO_TEST(select_api, cases_can_be_kept_in_variables) {
  const chan<int> c(1);
  auto send = on_send(c, 3);
  auto none = otherwise();
  EXPECT_EQ(select(send, none), 0u);
  int got = 0;
  auto receive = on_receive(c, [&](std::optional<int> value) { got = *value; });
  EXPECT_EQ(select(receive, none), 0u);
  EXPECT_EQ(got, 3);
}

GO_TEST(select_api, a_function_may_be_move_only_and_mutable) {
  const chan<int> c(1);
  auto owned = std::make_unique<int>(2);
  select(on_send(c, 4, [owned = std::move(owned)]() mutable { *owned += 1; }));
  EXPECT_EQ(c.receive(), 4);
}

GO_TEST(select_api, a_timeout_fires_when_nothing_else_does_and_not_early) {
  const chan<int> c;
  const auto start = steady_clock::now();
  bool fired = false;
  EXPECT_EQ(select(on_receive(c), on_timeout(5ms, [&] { fired = true; })), 1u);
  EXPECT_GE(steady_clock::now() - start, 5ms);
  EXPECT_TRUE(fired);
  EXPECT_EQ(select(on_timeout(1ms)), 0u);
  EXPECT_EQ(select(on_timeout(0ns)), 0u);
  EXPECT_EQ(select(on_timeout(-1h), on_receive(c)), 0u);
  EXPECT_EQ(select(on_timeout(std::chrono::nanoseconds::min())), 0u);
}

GO_TEST(select_api, the_earliest_of_several_timeouts_counts) {
  const chan<int> c;
  EXPECT_EQ(select(on_timeout(1h), on_timeout(1ms), on_receive(c), on_timeout(2h)), 1u);
  EXPECT_EQ(select(on_timeout(std::chrono::nanoseconds::max()), on_receive(c), on_timeout(1ms)),
            2u);
}

GO_TEST(select_api, a_ready_case_wins_over_a_timeout_that_has_passed) {
  const chan<int> c(1);
  c.send(1);
  EXPECT_EQ(select(on_timeout(0ns), on_receive(c)), 1u);
}

GO_TEST(select_api, a_timeout_does_not_fire_after_a_value_came) {
  chan<int> c;
  std::atomic<bool> done{false};
  go_until_parked([&, c] {
    EXPECT_EQ(select(on_timeout(1h, [] { ADD_FAILURE(); }), on_receive(c)), 1u);
    done = true;
  });
  c.send(1);
  EXPECT_TRUE(eventually([&] { return done.load(); }));
}

GO_TEST(select_api, default_is_chosen_only_if_nothing_is_ready) {
  const chan<int> c(1);
  bool called = false;
  EXPECT_EQ(select(on_receive(c), otherwise([&] { called = true; })), 1u);
  EXPECT_TRUE(called);
  EXPECT_EQ(select(otherwise()), 0u);
  EXPECT_EQ(select(on_timeout(1h), otherwise(), on_receive(c)), 1u);
  c.send(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(select(otherwise(), on_receive(c)), 1u);
    EXPECT_EQ(select(otherwise(), on_send(c, 1)), 1u);
  }
}

// The idiom that merges two channels: each is switched off when it is closed.
GO_TEST(select_api, assigning_nullptr_switches_a_case_off) {
  chan<int> a(2);
  chan<int> b(2);
  sley::go([a] {
    for (int i = 0; i < 50; ++i) a.send(1);
    a.close();
  });
  sley::go([b] {
    for (int i = 0; i < 70; ++i) b.send(100);
    b.close();
  });
  int sum = 0;
  while (a || b) {
    select(on_receive(a,
                      [&](std::optional<int> value) {
                        sum += value.value_or(0);
                        if (!value) a = nullptr;
                      }),
           on_receive(b, [&](std::optional<int> value) {
             sum += value.value_or(0);
             if (!value) b = nullptr;
           }));
  }
  EXPECT_EQ(sum, 50 + 7000);
}

GO_TEST(select_api, ready_cases_are_chosen_with_equal_chances) {
  const int tries = rounds(40000);
  std::array<chan<int>, 4> closed;
  for (auto& c : closed) c.close();
  std::vector<int> counts(4);
  for (int i = 0; i < tries; ++i) {
    ++counts.at(select(on_receive(closed[0]), on_receive(closed[1]), on_receive(closed[2]),
                       on_receive(closed[3])));
  }
  // With 3 degrees of freedom a fair choice exceeds 50 once in 10^10 runs.
  EXPECT_LT(chi_square(counts), 50.0)
      << counts[0] << ' ' << counts[1] << ' ' << counts[2] << ' ' << counts[3];
}

GO_TEST(select_api, sends_and_receives_and_duplicates_have_equal_chances) {
  const int tries = rounds(40000);
  const chan<int> c(2);
  c.send(1);
  std::vector<int> counts(5);
  for (int i = 0; i < tries; ++i) {
    const std::size_t index =
        select(on_receive(c), on_send(c, 1), on_receive(c), on_send(c, 1), on_receive(c));
    ++counts.at(index);
    index % 2 == 0 ? c.send(1) : static_cast<void>(c.receive());
  }
  EXPECT_LT(chi_square(counts), 60.0);
}

GO_TEST(select_api, sending_on_a_closed_channel_throws_out_of_select) {
  chan<int> c;
  const chan<int> other;
  c.close();
  EXPECT_THROW(select(on_send(c, 1, [] { ADD_FAILURE(); }), on_receive(other)),
               sley::channel_closed);
}

// A17 inside a select.
GO_TEST(select_api, close_throws_out_of_a_select_blocked_in_a_send) {
  chan<int> c;
  const chan<int> other;
  std::atomic<bool> thrown{false};
  go_until_parked([&, c] {
    EXPECT_THROW(select(on_receive(other), on_send(c, 1), on_send(c, 2)), sley::channel_closed);
    // Nothing of it is left behind on the other channel.
    int out = 0;
    EXPECT_EQ(other.try_receive(out), sley::chan_status::would_block);
    thrown = true;
  });
  c.close();
  EXPECT_TRUE(eventually([&] { return thrown.load(); }));
  EXPECT_EQ(other.try_send(1), sley::chan_status::would_block);
}

GO_TEST(select_api, close_wakes_a_select_blocked_in_a_receive) {
  chan<int> c;
  const chan<int> other;
  std::atomic<bool> woken{false};
  go_until_parked([&, c] {
    select(on_send(other, 1), on_receive(c, [&](std::optional<int> value) {
             EXPECT_EQ(value, std::nullopt);
             woken = true;
           }));
  });
  c.close();
  EXPECT_TRUE(eventually([&] { return woken.load(); }));
}

GO_TEST(select_api, an_exception_of_a_case_leaves_select_and_harms_nothing) {
  const chan<int> c(1);
  c.send(1);
  EXPECT_THROW(select(on_receive(c, [](auto) { throw std::runtime_error("mine"); }), otherwise()),
               std::runtime_error);
  EXPECT_THROW(select(on_timeout(0ns, [] { throw 1; })), int);
  EXPECT_EQ(c.size(), 0u);
  c.send(2);
  EXPECT_EQ(c.receive(), 2);
}

GO_TEST(select_api, a_function_may_use_the_channels_of_its_select) {
  const chan<int> c(1);
  select(on_send(c, 1, [&] { EXPECT_EQ(c.receive(), 1); }));
  select(on_send(c, 2, [&] { select(on_receive(c, [](auto value) { EXPECT_EQ(value, 2); })); }));
}

GO_TEST(select_api, move_only_values_go_through) {
  const chan<std::unique_ptr<int>> c(1);
  const chan<std::unique_ptr<int>> never;
  EXPECT_EQ(select(on_send(never, std::make_unique<int>(1)), on_send(c, std::make_unique<int>(2))),
            1u);
  int got = 0;
  select(on_receive(never),
         on_receive(c, [&](std::optional<std::unique_ptr<int>> value) { got = **value; }));
  EXPECT_EQ(got, 2);
}

GO_TEST(select_api, no_value_is_leaked_or_destroyed_twice) {
  const counted_check check;
  chan<counted> c;
  const chan<counted> never;       // has no receiver
  const chan<counted> never_sent;  // has no sender
  sley::wait_group group;
  group.go([&, c] {
    for (int i = 0; i < 100; ++i) {
      select(on_send(c, counted(i)), on_send(never, counted(-1)), on_receive(never_sent));
    }
    c.close();
  });
  int count = 0;
  for (bool open = true; open;) {
    select(on_receive(never_sent),
           on_receive(c,
                      [&](std::optional<counted> value) {
                        open = value.has_value();
                        if (!open) return;
                        EXPECT_EQ(value->value(), count++);
                        EXPECT_TRUE(value->holds());
                      }),
           on_send(never, counted(-2)));
  }
  group.wait();
  EXPECT_EQ(count, 100);
  c = chan<counted>(1);
  c.send(counted(1));
  select(on_receive(c), on_receive(never_sent));  // a value that is dropped
  EXPECT_EQ(select(on_send(never, counted(2)), otherwise()), 1u);
  EXPECT_EQ(select(on_send(never, counted(2)), on_timeout(1ms)), 1u);
  c.close();
  EXPECT_THROW(select(on_send(c, counted(3)), on_receive(never_sent)), sley::channel_closed);
}

GO_TEST(select_api, many_cases_in_one_call) {
  std::array<chan<int>, 10> c;
  for (std::size_t chosen = 0; chosen < c.size(); ++chosen) {
    go_until_parked([c, chosen] {
      EXPECT_EQ(select(on_receive(c[0]), on_receive(c[1]), on_receive(c[2]), on_receive(c[3]),
                       on_receive(c[4]), on_receive(c[5]), on_receive(c[6]), on_receive(c[7]),
                       on_receive(c[8]), on_receive(c[9])),
                chosen);
    });
    c[chosen].send(1);
  }
}
