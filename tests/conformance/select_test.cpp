// select: what Go's runtime/chan_test.go and test/chan/{doubleselect,select*}.go assert.
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

using sley::chan;
using sley::on_receive;
using sley::on_send;
using sley::otherwise;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::rounds;
using namespace std::chrono_literals;

// B1, TestNonblockSelectRace: the second channel becomes ready by a send.
GO_TEST(select, default_is_not_taken_while_one_of_two_is_always_ready) {
  const int tries = rounds(10000);
  for (int i = 0; i < tries; ++i) {
    chan<int> c1(1);
    chan<int> c2(1);
    chan<bool> done(1);
    c1.send(1);
    sley::go([=] { done.send(sley::select(on_receive(c1), on_receive(c2), otherwise()) != 2); });
    c2.send(1);
    sley::select(on_receive(c1), otherwise());
    ASSERT_EQ(done.receive(), true) << "no channel was ready in try " << i;
  }
}

// B2, TestNonblockSelectRace2: the second channel becomes ready by close.
GO_TEST(select, default_is_not_taken_while_a_close_follows_a_value) {
  const int tries = rounds(10000);
  for (int i = 0; i < tries; ++i) {
    chan<int> c1(1);
    chan<int> c2;
    chan<bool> done(1);
    c1.send(1);
    sley::go([=] { done.send(sley::select(on_receive(c1), on_receive(c2), otherwise()) != 2); });
    c2.close();
    sley::select(on_receive(c1), otherwise());
    ASSERT_EQ(done.receive(), true) << "no channel was ready in try " << i;
  }
}

namespace {

void send_or_receive(const chan<int>& c, int self, bool send_first, bool buffered) {
  const auto check = [=](std::optional<int> value) {
    EXPECT_TRUE(value.has_value());
    if (!buffered) {
      EXPECT_NE(*value, self) << "received its own value";
    }
  };
  if (send_first) {
    sley::select(on_send(c, self), on_receive(c, check));
  } else {
    sley::select(on_receive(c, check), on_send(c, self));
  }
}

}  // namespace

// B3, TestSelfSelect
GO_TEST(select, never_receives_its_own_value) {
  const int exchanges = rounds(1000);
  for (const int capacity : {0, 10}) {
    chan<int> c(capacity);
    sley::wait_group group;
    for (int self = 0; self < 2; ++self) {
      group.go([=] {
        for (int i = 0; i < exchanges; ++i) {
          send_or_receive(c, self, self == 0 || i % 2 == 0, capacity != 0);
        }
      });
    }
    group.wait();
  }
}

// B6, TestSelectDuplicateChannel
GO_TEST(select, a_channel_in_several_cases_keeps_its_queue_when_another_case_wins) {
  for (const int capacity : {0, 1}) {
    chan<int> c(capacity);
    chan<int> d(capacity);
    chan<int> e;
    go_until_parked([=] {
      EXPECT_EQ(sley::select(on_receive(c), on_receive(c), on_receive(d), on_receive(c)), 2u);
      e.send(9);
    });
    std::atomic<int> got{0};
    go_until_parked([&, c] { got = *c.receive(); });
    d.send(7);  // wakes the first, which leaves c's queue
    EXPECT_EQ(e.receive(), 9);
    c.send(8);  // must wake the second
    EXPECT_TRUE(eventually([&] { return got == 8; }));
  }
}

// B6: the same for senders, with two selects around a plain one.
GO_TEST(select, a_duplicate_in_the_middle_of_a_queue_leaves_no_trace) {
  chan<int> c;
  chan<void> leave;
  std::atomic<int> left{0};
  const auto selector = [&, c, leave] {
    EXPECT_EQ(sley::select(on_send(c, 1), on_receive(leave), on_send(c, 2)), 1u);
    ++left;
  };
  go_until_parked(selector);
  go_until_parked([c] { c.send(3); });
  go_until_parked(selector);
  leave.close();
  EXPECT_TRUE(eventually([&] { return left == 2; }));
  EXPECT_EQ(c.receive(), 3);
  int out = 0;
  EXPECT_EQ(c.try_receive(out), sley::chan_status::would_block);
}

// B7, test/chan/doubleselect
GO_TEST(select, a_sender_over_four_channels_delivers_each_value_once) {
  const int values = rounds(50000);
  std::array<chan<int>, 4> lanes;
  chan<int> merged;
  sley::go([=] {
    for (int i = 0; i < values; ++i) {
      sley::select(on_send(lanes[0], i), on_send(lanes[1], i), on_send(lanes[2], i),
                   on_send(lanes[3], i));
    }
    for (const auto& lane : lanes) lane.close();
  });
  sley::wait_group merging;
  for (const auto& lane : lanes) {
    merging.go([lane, merged] {
      for (const int value : lane) merged.send(value);
    });
  }
  sley::go([&, merged] {
    merging.wait();
    merged.close();
  });
  std::vector<bool> seen(static_cast<std::size_t>(values));
  int count = 0;
  for (const int value : merged) {
    EXPECT_FALSE(seen.at(static_cast<std::size_t>(value))) << value << " came twice";
    seen.at(static_cast<std::size_t>(value)) = true;
    ++count;
  }
  EXPECT_EQ(count, values);
}

// B9, test/chan/select4 and select5: each expression is evaluated once, before anything is chosen,
// and only the winner's function is called.
GO_TEST(select, evaluates_each_expression_once_and_calls_only_the_winner) {
  chan<int> ready(1);
  chan<int> never;
  int channels = 0;
  int values = 0;
  int called = 0;
  bool chosen = false;
  const auto channel = [&](const chan<int>& c) {
    EXPECT_FALSE(chosen);
    ++channels;
    return c;
  };
  const auto value = [&](int v) {
    EXPECT_FALSE(chosen);
    ++values;
    return v;
  };
  const std::size_t index = sley::select(
      on_receive(channel(never), [&](auto) { ADD_FAILURE(); }),
      on_send(channel(ready), value(5), [&] { chosen = true, ++called; }),
      on_send(channel(never), value(6), [] { ADD_FAILURE(); }), otherwise([] { ADD_FAILURE(); }));
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(channels, 3);
  EXPECT_EQ(values, 2);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(ready.receive(), 5);
}

// B10, test/chan/select6 (Go's issue 2075)
GO_TEST(select, a_lost_case_at_the_end_of_a_queue_takes_no_wake_up_along) {
  chan<bool> c1;
  chan<bool> c2;
  chan<bool> c3;
  chan<bool> c4;
  go_until_parked([=] { EXPECT_EQ(c1.receive(), true); });
  go_until_parked([=] {
    EXPECT_EQ(sley::select(on_receive(c1), on_receive(c2)), 1u);
    c3.send(true);
    EXPECT_EQ(c1.receive(), true);
  });
  sley::go([=] { c2.send(true); });
  EXPECT_EQ(c3.receive(), true);
  c1.send(true);
  c1.send(true);
  // The same with senders.
  go_until_parked([=] { c1.send(true); });
  go_until_parked([=] {
    EXPECT_EQ(sley::select(on_send(c1, true), on_send(c2, true)), 1u);
    c4.send(true);
    c1.send(true);
  });
  sley::go([=] { EXPECT_EQ(c2.receive(), true); });
  EXPECT_EQ(c4.receive(), true);
  EXPECT_EQ(c1.receive(), true);
  EXPECT_EQ(c1.receive(), true);
}

namespace {

using receive_form = std::function<void(const chan<int>&)>;
using send_form = std::function<void(const chan<int>&)>;

std::vector<receive_form> receive_forms() {
  return {
      [](const chan<int>& c) { (void)c.receive(); },
      [](const chan<int>& c) { EXPECT_EQ(c.receive(), 1); },
      [](const chan<int>& c) {
        int value = 0;
        EXPECT_EQ(c.try_receive_for(value, 10s), sley::chan_status::ok);
      },
      [](const chan<int>& c) { sley::select(on_receive(c)); },
      [](const chan<int>& c) { sley::select(on_receive(c, [](auto v) { EXPECT_EQ(v, 1); })); },
      [](const chan<int>& c) {
        EXPECT_EQ(sley::select(on_receive(chan<int>()), on_receive(c)), 1u);
      },
      [](const chan<int>& c) {
        EXPECT_EQ(sley::select(on_receive(c), on_send(chan<int>(), 3)), 0u);
      },
      [](const chan<int>& c) {
        sley::select_set set;
        set.add_receive(c);
        EXPECT_EQ(set.wait(), 0u);
      },
  };
}

std::vector<send_form> send_forms() {
  return {
      [](const chan<int>& c) { c.send(1); },
      [](const chan<int>& c) { EXPECT_EQ(c.try_send_for(1, 10s), sley::chan_status::ok); },
      [](const chan<int>& c) { sley::select(on_send(c, 1)); },
      [](const chan<int>& c) {
        EXPECT_EQ(sley::select(on_receive(chan<int>()), on_send(c, 1)), 1u);
      },
      [](const chan<int>& c) {
        EXPECT_EQ(sley::select(on_send(c, 1), on_send(chan<int>(), 2)), 0u);
      },
      [](const chan<int>& c) {
        sley::select_set set;
        set.add_send(c, 1);
        EXPECT_EQ(set.wait(), 0u);
      },
  };
}

}  // namespace

// B11, test/chan/select7
GO_TEST(select, every_form_of_send_meets_every_form_of_receive_in_either_order) {
  for (const auto& send : send_forms()) {
    for (const auto& receive : receive_forms()) {
      for (const bool send_first : {true, false}) {
        for (const bool other_parks : {true, false}) {
          const chan<int> c;
          const auto first = [=] { send_first ? send(c) : receive(c); };
          if (other_parks) {
            go_until_parked(first);
          } else {
            sley::go(first);
          }
          send_first ? receive(c) : send(c);
        }
      }
    }
  }
}

// test/chan/select3: what blocks and what does not.
GO_TEST(select, blocks_only_if_no_case_can_go_on) {
  const chan<int> nil(nullptr);
  const chan<int> empty;
  chan<int> closed;
  closed.close();
  chan<int> buffered(1);
  EXPECT_EQ(sley::select(on_receive(nil), on_send(nil, 7), otherwise()), 2u);
  EXPECT_EQ(sley::select(on_receive(empty), on_send(empty, 7), otherwise()), 2u);
  EXPECT_EQ(sley::select(on_receive(closed), otherwise()), 0u);
  EXPECT_EQ(sley::select(on_receive(nil), on_receive(closed)), 1u);
  EXPECT_EQ(sley::select(on_receive(buffered), on_send(buffered, 7)), 1u);
  EXPECT_EQ(sley::select(on_receive(buffered), on_send(buffered, 7)), 0u);
  EXPECT_EQ(sley::select(sley::on_timeout(1ms), on_receive(empty), on_send(nil, 1)), 0u);
  EXPECT_THROW(sley::select(on_send(closed, 7)), sley::channel_closed);
  EXPECT_THROW(sley::select(on_send(closed, 7), otherwise()), sley::channel_closed);
}

GO_TEST(select, the_default_case_may_stand_anywhere) {
  const chan<int> empty;
  chan<int> full(1);
  full.send(1);
  int defaults = 0;
  const auto count = [&] { ++defaults; };
  const auto refuse = [](std::optional<int>) { FAIL() << "received from an empty channel"; };
  const auto no_send = [] { FAIL() << "sent to a full channel"; };
  EXPECT_EQ(sley::select(otherwise(count), on_receive(empty, refuse)), 0u);
  EXPECT_EQ(sley::select(on_receive(empty, refuse), otherwise(count), on_send(full, 2, no_send)),
            1u);
  EXPECT_EQ(sley::select(otherwise(count)), 0u);
  EXPECT_EQ(sley::select(sley::on_timeout(0ns), otherwise(count), on_receive(empty, refuse)), 1u);
  EXPECT_EQ(defaults, 4);
  EXPECT_EQ(sley::select(otherwise(count), on_receive(full)), 1u);
  EXPECT_EQ(sley::select(otherwise(count), on_receive(empty), on_send(full, 3)), 2u);
  EXPECT_EQ(defaults, 4);
}

GO_TEST(select, an_exception_of_the_default_case_comes_out) {
  const chan<int> empty;
  EXPECT_THROW(sley::select(on_receive(empty), otherwise([] { throw std::runtime_error("none"); })),
               std::runtime_error);
}

// B4, TestSelectFairness: two of four channels are always ready.
GO_TEST(select, two_ready_cases_among_four_are_chosen_equally) {
  const int trials = rounds(10000);
  chan<int> c1(trials + 1);
  chan<int> c2(trials + 1);
  for (int i = 0; i <= trials; ++i) {
    c1.send(1);
    c2.send(2);
  }
  const chan<int> c3;
  const chan<int> c4;
  chan<int> out;
  chan<void> done;
  sley::wait_group group;
  group.go([=] {
    for (bool stop = false; !stop;) {
      std::optional<int> got;
      const auto keep = [&got](std::optional<int> value) { got = value; };
      sley::select(on_receive(c3, keep), on_receive(c4, keep), on_receive(c1, keep),
                   on_receive(c2, keep));
      sley::select(on_send(out, got.value_or(0)), on_receive(done, [&](bool) { stop = true; }));
    }
  });
  int ones = 0;
  for (int i = 0; i < trials; ++i) {
    const auto value = out.receive();
    if (value == 1) ++ones;
  }
  done.close();
  group.wait();
  // 12 standard deviations of a fair coin.
  EXPECT_NEAR(ones, trials / 2, 6 * std::sqrt(trials));
}
