// select_set: the select whose cases are known only at run time.
#include "support/child.hpp"
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using sley::chan;
using sley::select_set;
using sley_test::counted;
using sley_test::eventually;
using sley_test::go_until_parked;
using namespace std::chrono_literals;

GO_TEST(select_set, each_case_gets_the_next_index) {
  const chan<int> ints(1);
  const chan<void> signals(1);
  const chan<std::string> texts(1);
  select_set set;
  EXPECT_EQ(set.add_receive(ints, [](std::optional<int>) {}), 0u);
  EXPECT_EQ(set.add_receive(signals, [](bool) {}), 1u);
  EXPECT_EQ(set.add_receive(sley::recv_chan<std::string>(texts)), 2u);
  EXPECT_EQ(set.add_send(ints, 1, [] {}), 3u);
  EXPECT_EQ(set.add_send(signals), 4u);
  EXPECT_EQ(set.add_send(sley::send_chan<std::string>(texts), "converted"), 5u);
  EXPECT_EQ(set.add_send(sley::send_chan<void>(signals), [] {}), 6u);
  EXPECT_EQ(set.add_timeout(1h, [] {}), 7u);
  EXPECT_EQ(set.add_timeout(1h), 8u);
  EXPECT_EQ(set.add_send(texts, {3, 'x'}, [] {}), 9u);
}

GO_TEST(select_set, wait_runs_the_chosen_function_and_returns_its_index) {
  const chan<int> a;
  const chan<int> b(1);
  int got = 0;
  select_set set;
  set.add_receive(a, [](auto) { ADD_FAILURE(); });
  set.add_receive(b, [&](std::optional<int> value) { got = *value; });
  b.send(6);
  EXPECT_EQ(set.wait(), 1u);
  EXPECT_EQ(got, 6);
}

GO_TEST(select_set, can_be_waited_on_again_and_sends_a_copy_each_time) {
  const chan<std::string> c(3);
  select_set set;
  set.add_send(c, std::string(40, 'x'));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(set.wait(), 0u);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(c.receive(), std::string(40, 'x'));
  EXPECT_EQ(set.try_wait(), 0u);
}

GO_TEST(select_set, receives_until_all_are_closed) {
  constexpr std::size_t lanes = 30;
  std::vector<chan<int>> channels(lanes);
  std::vector<int> received(lanes);
  std::size_t open = lanes;
  select_set set;
  for (std::size_t i = 0; i < lanes; ++i) {
    channels[i] = chan<int>(i % 3);
    sley::go([c = channels[i], i] {
      for (std::size_t n = 0; n <= i; ++n) c.send(static_cast<int>(n));
      c.close();
    });
  }
  // A closed channel is ready for ever, so each round has a set of those still open.
  while (open > 0) {
    select_set round;
    for (std::size_t i = 0; i < lanes; ++i) {
      round.add_receive(channels[i], [&, i](std::optional<int> value) {
        if (value) {
          EXPECT_EQ(*value, received[i]++);
        } else {
          channels[i] = nullptr;
          --open;
        }
      });
    }
    round.wait();
  }
  for (std::size_t i = 0; i < lanes; ++i) EXPECT_EQ(received[i], static_cast<int>(i) + 1);
}

GO_TEST(select_set, a_thousand_cases) {
  constexpr std::size_t count = 1000;
  std::vector<chan<std::size_t>> channels(count);
  std::vector<std::size_t> got;
  select_set set;
  for (const auto& c : channels) {
    set.add_receive(c, [&](std::optional<std::size_t> value) { got.push_back(*value); });
  }
  EXPECT_EQ(set.try_wait(), std::nullopt);
  for (const std::size_t chosen : {std::size_t{0}, std::size_t{500}, count - 1}) {
    sley::go([c = channels[chosen], chosen] { c.send(chosen); });
    EXPECT_EQ(set.wait(), chosen);
    EXPECT_EQ(got.back(), chosen);
  }
}

GO_TEST(select_set, a_timeout_counts_anew_from_each_wait) {
  const chan<int> c;
  int fired = 0;
  select_set set;
  set.add_receive(c);
  const std::size_t timeout = set.add_timeout(4ms, [&] { ++fired; });
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(set.wait(), timeout);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 4ms);
  }
  EXPECT_EQ(fired, 3);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  EXPECT_EQ(fired, 3);
}

GO_TEST(select_set, the_earliest_timeout_counts) {
  select_set set;
  set.add_timeout(1h);
  set.add_timeout(1ms);
  set.add_timeout(2h);
  EXPECT_EQ(set.wait(), 1u);
}

GO_TEST(select_set, a_nil_channels_case_never_fires) {
  chan<int> nil(nullptr);
  const chan<int> ready(1);
  ready.send(1);
  select_set set;
  set.add_receive(nil);
  set.add_send(nil, 1);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  set.add_receive(ready);
  EXPECT_EQ(set.wait(), 2u);
}

GO_TEST(select_set, an_empty_set_is_never_ready) {
  select_set set;
  EXPECT_EQ(set.try_wait(), std::nullopt);
}

GO_TEST(select_set, sending_on_a_closed_channel_throws) {
  chan<int> c;
  select_set set;
  set.add_send(c, 1);
  std::atomic<bool> thrown{false};
  go_until_parked([&] {
    EXPECT_THROW(set.wait(), sley::channel_closed);
    thrown = true;
  });
  c.close();
  EXPECT_TRUE(eventually([&] { return thrown.load(); }));
  EXPECT_THROW(set.wait(), sley::channel_closed);
  EXPECT_THROW(set.try_wait(), sley::channel_closed);
}

GO_TEST(select_set, move_only_values_and_functions_work) {
  const chan<std::unique_ptr<int>> c(1);
  int got = 0;
  select_set send;
  send.add_send(c, std::make_unique<int>(3), [p = std::make_unique<int>(1)] { *p = 2; });
  EXPECT_EQ(send.wait(), 0u);
  select_set receive;
  receive.add_receive(c, [&](std::optional<std::unique_ptr<int>> value) { got = **value; });
  EXPECT_EQ(receive.wait(), 0u);
  EXPECT_EQ(got, 3);
}

GO_TEST(select_set, keeps_its_channels_alive_and_can_be_moved) {
  select_set set;
  {
    const chan<int> c(1);
    c.send(8);
    set.add_receive(c, [](std::optional<int> value) { EXPECT_EQ(value, 8); });
  }
  select_set moved = std::move(set);
  EXPECT_EQ(moved.wait(), 0u);
}

GO_TEST(select_set, no_value_is_leaked_or_destroyed_twice) {
  const sley_test::counted_check check;
  const chan<counted> c(2);
  select_set set;
  set.add_send(c, counted(1));
  set.add_send(chan<counted>(), counted(2));
  EXPECT_EQ(set.wait(), 0u);
  EXPECT_EQ(set.wait(), 0u);
  EXPECT_EQ(set.try_wait(), std::nullopt);
  EXPECT_EQ(c.receive()->value(), 1);
  EXPECT_TRUE(c.receive()->holds());
}

GO_TEST(select_set, ready_cases_are_chosen_with_equal_chances) {
  constexpr int cases = 8;
  const int tries = sley_test::rounds(16000);
  chan<int> closed;
  closed.close();
  std::vector<int> counts(cases);
  select_set set;
  for (int i = 0; i < cases; ++i) set.add_receive(closed);
  for (int i = 0; i < tries; ++i) ++counts.at(set.wait());
  double chi_square = 0;
  const double expected = static_cast<double>(tries) / cases;
  for (const int count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 65.0);  // 7 degrees of freedom: exceeded once in 10^11 runs
}

CHILD_MAIN(blocks_for_ever) {
  return sley::run([] {
    std::atomic<int> passed{0};
    const auto never = [&passed](auto wait) {
      go_until_parked([&passed, wait] {
        wait();
        ++passed;
      });
    };
    never([] { sley::block_forever(); });
    never([] { select_set().wait(); });
    never([] { chan<int>(nullptr).send(1); });
    never([] { (void)chan<int>(nullptr).receive(); });
    never([] { (void)chan<void>(nullptr).receive(); });
    never([] { sley::select(sley::on_receive(chan<int>(nullptr))); });
    sley_test::let_others_run();
    return passed == 0 ? 7 : 3;
  });
}

TEST(select_set, waiting_for_nothing_blocks_for_ever) {
  const auto child = sley_test::run_child("blocks_for_ever", {{"ASAN_OPTIONS", "detect_leaks=0"}});
  EXPECT_EQ(child.status, 7) << child;
}
