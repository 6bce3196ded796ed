// Channel operations that do not block, or not for ever: readiness becomes visible after a bounded
// number of yields, and values stay where they were unless the status is ok.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

using sley::chan;
using sley::chan_status;
using sley_test::eventually;
using sley_test::go_until_parked;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

// Tries until the status is another than would_block.
template <class Try>
chan_status try_with_yields(Try attempt) {
  chan_status status = chan_status::would_block;
  (void)sley_test::eventually([&] {
    status = attempt();
    return status != chan_status::would_block;
  });
  return status;
}

// The combinations of test/chan/nonblock.go for one type and capacity.
template <class T>
void every_combination_reports_its_readiness(T value, int capacity) {
  chan<T> c(capacity);
  T out{};
  ASSERT_EQ(c.try_receive(out), chan_status::would_block);
  if (capacity == 0) {
    ASSERT_EQ(c.try_send(T(value)), chan_status::would_block);
  } else {
    ASSERT_EQ(c.try_send(T(value)), chan_status::ok);
    ASSERT_EQ(c.try_send(T(value)), chan_status::would_block);
    ASSERT_EQ(c.receive(), value);
  }

  chan<void> done;
  sley::go([=] {  // blocking receive, non-blocking send
    EXPECT_EQ(c.receive(), value);
    done.send();
  });
  ASSERT_EQ(try_with_yields([&] { return c.try_send(T(value)); }), chan_status::ok);
  done.receive();

  sley::go([=] {  // blocking send, non-blocking receive
    c.send(value);
    done.send();
  });
  ASSERT_EQ(try_with_yields([&] { return c.try_receive(out); }), chan_status::ok);
  ASSERT_EQ(out, value);
  done.receive();

  sley::go([=] {  // non-blocking send, blocking receive
    EXPECT_EQ(try_with_yields([&] { return c.try_send(T(value)); }), chan_status::ok);
    done.send();
  });
  ASSERT_EQ(c.receive(), value);
  done.receive();

  sley::go([=] {  // non-blocking receive, blocking send
    T got{};
    EXPECT_EQ(try_with_yields([&] { return c.try_receive(got); }), chan_status::ok);
    EXPECT_EQ(got, value);
    done.send();
  });
  c.send(value);
  done.receive();
}

}  // namespace

// A14, test/chan/nonblock
GO_TEST(chan_nonblocking, readiness_is_visible_after_yields_for_every_type) {
  for (int i = 0; i < 20; ++i) {
    for (const int capacity : {0, 1}) {
      every_combination_reports_its_readiness<std::uint8_t>(200, capacity);
      every_combination_reports_its_readiness<std::int32_t>(1 << 30, capacity);
      every_combination_reports_its_readiness<std::int64_t>(std::int64_t{1} << 60, capacity);
      every_combination_reports_its_readiness<std::string>(
          "a string that is too long for the small string buffer", capacity);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

GO_TEST(chan_nonblocking, try_send_meets_a_parked_receiver_at_once) {
  chan<int> c;
  std::atomic<int> got{0};
  go_until_parked([&, c] { got = *c.receive(); });
  EXPECT_EQ(c.try_send(9), chan_status::ok);
  EXPECT_TRUE(eventually([&] { return got == 9; }));
}

GO_TEST(chan_nonblocking, try_receive_meets_a_parked_sender_at_once) {
  for (const int capacity : {0, 1}) {
    chan<int> c(capacity);
    for (int i = 0; i < capacity; ++i) c.send(i);
    go_until_parked([c] { c.send(9); });
    int out = 0;
    for (int i = 0; i < capacity; ++i) {
      EXPECT_EQ(c.try_receive(out), chan_status::ok);
      EXPECT_EQ(out, i);
    }
    EXPECT_EQ(c.try_receive(out), chan_status::ok);
    EXPECT_EQ(out, 9);
  }
}

GO_TEST(chan_nonblocking, a_value_that_was_not_sent_is_untouched) {
  chan<std::unique_ptr<int>> c;
  auto value = std::make_unique<int>(4);
  EXPECT_EQ(c.try_send(value), chan_status::would_block);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(c.try_send(std::move(value)), chan_status::would_block);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(c.try_send_for(value, 1ms), chan_status::timeout);
  ASSERT_NE(value, nullptr);
  c.close();
  EXPECT_EQ(c.try_send(value), chan_status::closed);
  EXPECT_EQ(c.try_send_for(value, 1ms), chan_status::closed);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(*value, 4);
}

GO_TEST(chan_nonblocking, a_value_that_a_close_sends_back_is_untouched) {
  chan<std::unique_ptr<int>> c;
  std::atomic<bool> ended{false};
  go_until_parked([&, c] {
    auto value = std::make_unique<int>(4);
    EXPECT_EQ(c.try_send_for(value, 1h), chan_status::closed);
    EXPECT_TRUE(value != nullptr && *value == 4);
    ended = true;
  });
  c.close();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

GO_TEST(chan_nonblocking, a_sent_value_has_been_moved_from) {
  chan<std::unique_ptr<int>> c(2);
  auto value = std::make_unique<int>(4);
  EXPECT_EQ(c.try_send(value), chan_status::ok);
  EXPECT_EQ(value, nullptr);
  value = std::make_unique<int>(5);
  EXPECT_EQ(c.try_send_for(value, 1ms), chan_status::ok);
  EXPECT_EQ(value, nullptr);
  EXPECT_EQ(**c.receive(), 4);
  std::unique_ptr<int> out;
  EXPECT_EQ(c.try_receive_for(out, 1ms), chan_status::ok);
  EXPECT_EQ(*out, 5);
}

GO_TEST(chan_nonblocking, the_target_of_a_failed_receive_is_untouched) {
  chan<std::string> c;
  std::string out = "before";
  EXPECT_EQ(c.try_receive(out), chan_status::would_block);
  EXPECT_EQ(c.try_receive_for(out, 1ms), chan_status::timeout);
  EXPECT_EQ(out, "before");
  c.close();
  EXPECT_EQ(c.try_receive(out), chan_status::closed);
  EXPECT_EQ(c.try_receive_for(out, 1ms), chan_status::closed);
  EXPECT_EQ(out, "before");
}

GO_TEST(chan_nonblocking, a_timeout_is_not_early) {
  chan<int> c;
  for (const auto d : {1ms, 5ms, 20ms}) {
    int value = 0;
    auto start = steady_clock::now();
    EXPECT_EQ(c.try_receive_for(value, d), chan_status::timeout);
    EXPECT_GE(steady_clock::now() - start, d);
    start = steady_clock::now();
    EXPECT_EQ(c.try_send_for(value, d), chan_status::timeout);
    EXPECT_GE(steady_clock::now() - start, d);
  }
}

GO_TEST(chan_nonblocking, a_timeout_of_zero_or_less_only_tries) {
  chan<int> c(1);
  int value = 0;
  for (const auto d : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    EXPECT_EQ(c.try_receive_for(value, d), chan_status::timeout);
    EXPECT_EQ(c.try_send_for(7, d), chan_status::ok);
    EXPECT_EQ(c.try_send_for(8, d), chan_status::timeout);
    EXPECT_EQ(c.try_receive_for(value, d), chan_status::ok);
    EXPECT_EQ(value, 7);
  }
}

GO_TEST(chan_nonblocking, the_longest_timeout_waits_for_the_value) {
  chan<int> c;
  std::atomic<int> got{0};
  go_until_parked([&, c] {
    int out = 0;
    EXPECT_EQ(c.try_receive_for(out, std::chrono::nanoseconds::max()), chan_status::ok);
    got = out;
  });
  c.send(3);
  EXPECT_TRUE(eventually([&] { return got == 3; }));
}

// A receiver that times out just as a sender comes must not swallow the value.
GO_TEST(chan_nonblocking, a_timeout_racing_with_a_send_loses_no_value) {
  chan<int> c;
  const int values = sley_test::rounds(2000);
  chan<int> total(1);
  sley::go([=] {
    int received = 0;
    for (;;) {
      int out = 0;
      const chan_status status = c.try_receive_for(out, 20us);
      if (status == chan_status::closed) break;
      if (status != chan_status::ok) continue;
      EXPECT_EQ(out, received);
      ++received;
    }
    total.send(received);
  });
  for (int i = 0; i < values;) {
    if (c.try_send_for(i, 15us) == chan_status::ok) ++i;
  }
  c.close();
  EXPECT_EQ(total.receive(), values);
}
