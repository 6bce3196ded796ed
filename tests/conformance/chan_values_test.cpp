// What travels through channels: kinds of types, handles and views, and the life of each value.
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using sley::chan;
using sley::chan_status;
using sley::recv_chan;
using sley::send_chan;
using sley_test::counted;
using sley_test::counted_check;
using sley_test::eventually;
using sley_test::go_until_parked;

namespace {

struct empty {};

struct alignas(64) cache_line {
  explicit cache_line(int v) : value(v) { check(); }
  cache_line(cache_line&& other) noexcept : value(other.value) { check(); }
  ~cache_line() { check(); }
  void check() const { EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 64, 0u); }
  int value;
};

struct neither_default_nor_assignable {
  const int value;
};

// Values of one type go through channels of several capacities.
template <class T, class Make, class Check>
void passes_through(Make make, Check check) {
  for (const int capacity : {0, 1, 5}) {
    chan<T> c(capacity);
    sley::go([c, make] {
      for (int i = 0; i < 20; ++i) c.send(make(i));
      c.close();
    });
    int count = 0;
    while (std::optional<T> value = c.receive()) check(*value, count++);
    EXPECT_EQ(count, 20);
  }
}

}  // namespace

// A15, test/chan/zerosize
GO_TEST(chan_values, an_empty_type_is_a_value_like_any_other) {
  for (const int capacity : {0, 2}) {
    chan<empty> c(capacity);
    sley::go([c] {
      for (int i = 0; i < 10; ++i) c.send({});
      c.close();
    });
    int count = 0;
    while (c.receive()) ++count;
    EXPECT_EQ(count, 10);
  }
  chan<empty> full(2);
  full.send({});
  full.send({});
  EXPECT_EQ(full.try_send({}), chan_status::would_block);
  EXPECT_EQ(full.size(), 2u);
}

GO_TEST(chan_values, types_of_every_shape_pass_through) {
  passes_through<std::string>([](int i) { return std::string(100, static_cast<char>('a' + i)); },
                              [](const std::string& s, int i) {
                                EXPECT_EQ(s, std::string(100, static_cast<char>('a' + i)));
                              });
  passes_through<std::unique_ptr<int>>([](int i) { return std::make_unique<int>(i); },
                                       [](const auto& p, int i) { EXPECT_EQ(*p, i); });
  passes_through<cache_line>([](int i) { return cache_line(i); },
                             [](const cache_line& line, int i) { EXPECT_EQ(line.value, i); });
  passes_through<std::array<int, 2000>>(
      [](int i) {
        std::array<int, 2000> a;
        a.fill(i);
        return a;
      },
      [](const auto& a, int i) { EXPECT_TRUE(a.front() == i && a[999] == i && a.back() == i); });
  passes_through<neither_default_nor_assignable>(
      [](int i) { return neither_default_nor_assignable{i}; },
      [](const auto& value, int i) { EXPECT_EQ(value.value, i); });
  passes_through<bool>([](int i) { return i % 2 == 1; },
                       [](bool value, int i) { EXPECT_EQ(value, i % 2 == 1); });
}

GO_TEST(chan_values, channels_travel_through_channels) {
  chan<chan<int>> requests;
  sley::go([requests] {
    int next = 0;
    for (const chan<int>& reply : requests) reply.send(next++);
  });
  for (int i = 0; i < 10; ++i) {
    chan<int> reply;
    requests.send(reply);
    EXPECT_EQ(reply.receive(), i);
  }
  requests.close();
}

GO_TEST(chan_values, a_channel_may_hold_its_own_handle) {
  struct node {
    chan<std::shared_ptr<node>> c{1};
  };
  auto n = std::make_shared<node>();
  n->c.send(n);
  EXPECT_EQ(n->c.receive()->get(), n.get());
}

GO_TEST(chan_values, each_value_is_destroyed_once) {
  const counted_check check;
  for (const int capacity : {0, 1, 3}) {
    chan<counted> c(capacity);
    sley::go([c] {
      for (int i = 0; i < 50; ++i) c.send(counted(i));
      c.close();
    });
    int expected = 0;
    for (const counted& value : c) {
      EXPECT_TRUE(value.holds());
      EXPECT_EQ(value.value(), expected++);
    }
    EXPECT_EQ(expected, 50);
  }
}

GO_TEST(chan_values, the_last_handle_destroys_buffered_values) {
  const counted_check check;
  const int before = counted::values();
  {
    chan<counted> c(8);
    for (int i = 0; i < 8; ++i) c.send(counted(i));
    (void)c.receive();
    (void)c.receive();
    c.send(counted(8));  // the ring has wrapped
    recv_chan<counted> view = c;
    c = nullptr;
    EXPECT_EQ(counted::values(), before + 7);
    EXPECT_EQ(view.receive()->value(), 2);
    view.~recv_chan();
    EXPECT_EQ(counted::values(), before);
    new (&view) recv_chan<counted>();
  }
  {
    chan<counted> closed(2);
    closed.send(counted(1));
    closed.close();
  }
}

GO_TEST(chan_values, a_blocked_sender_that_throws_destroys_its_value_once) {
  const counted_check check;
  chan<counted> c;
  std::atomic<bool> ended{false};
  go_until_parked([&, c] {
    EXPECT_THROW(c.send(counted(1)), sley::channel_closed);
    ended = true;
  });
  c.close();
  EXPECT_THROW(c.send(counted(2)), sley::channel_closed);
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

GO_TEST(chan_values, operations_that_fail_make_and_destroy_no_value) {
  const counted_check check;
  chan<counted> c(1);
  c.send(counted(1));
  counted kept(2);
  EXPECT_EQ(c.try_send(kept), chan_status::would_block);
  EXPECT_EQ(c.try_send_for(kept, std::chrono::milliseconds(1)), chan_status::timeout);
  EXPECT_TRUE(kept.holds());
  EXPECT_EQ(c.receive()->value(), 1);
  EXPECT_EQ(c.try_receive(kept), chan_status::would_block);
  EXPECT_EQ(c.try_receive_for(kept, std::chrono::milliseconds(1)), chan_status::timeout);
  EXPECT_TRUE(kept.holds());
  EXPECT_EQ(kept.value(), 2);
  c.close();
  EXPECT_EQ(c.try_send(kept), chan_status::closed);
  EXPECT_EQ(c.try_receive(kept), chan_status::closed);
  EXPECT_TRUE(kept.holds());
}

GO_TEST(chan_values, handles_name_the_same_channel) {
  chan<int> a(1);
  const chan<int> b = a;
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a != b);
  EXPECT_FALSE(a == chan<int>(1));
  EXPECT_TRUE(chan<int>(nullptr) == chan<int>(nullptr));
  EXPECT_TRUE(a != nullptr);
  EXPECT_TRUE(nullptr == chan<int>(nullptr));
  EXPECT_TRUE(static_cast<bool>(a));
  b.send(5);
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(a.receive(), 5);
  a = nullptr;
  EXPECT_FALSE(static_cast<bool>(a));
  EXPECT_TRUE(static_cast<bool>(b));
  EXPECT_FALSE(a == b);
}

GO_TEST(chan_values, zero_is_a_capacity_and_nullptr_the_nil_channel) {
  chan<int> unbuffered(0);
  chan<int> also_unbuffered;
  chan<int> nil(nullptr);
  EXPECT_TRUE(static_cast<bool>(unbuffered));
  EXPECT_TRUE(static_cast<bool>(also_unbuffered));
  EXPECT_FALSE(static_cast<bool>(nil));
  EXPECT_EQ(unbuffered.capacity(), 0u);
  chan<int> of_long(3L);
  chan<int> of_short(static_cast<short>(3));
  chan<int> of_unsigned(3u);
  chan<int> of_size(std::size_t{3});
  EXPECT_EQ(of_long.capacity() + of_short.capacity(), 6u);
  EXPECT_EQ(of_unsigned.capacity() + of_size.capacity(), 6u);
}

GO_TEST(chan_values, the_views_behave_as_the_channel) {
  const chan<int> c(3);
  const send_chan<int> in = c;
  const recv_chan<int> out = c;
  EXPECT_TRUE(in == send_chan<int>(c));
  EXPECT_TRUE(out == recv_chan<int>(c));
  in.send(1);
  EXPECT_EQ(in.try_send(2), chan_status::ok);
  int value = 3;
  EXPECT_EQ(in.try_send_for(value, std::chrono::milliseconds(1)), chan_status::ok);
  EXPECT_EQ(in.size(), 3u);
  EXPECT_EQ(out.size(), 3u);
  EXPECT_EQ(in.capacity() + out.capacity(), 6u);
  in.close();
  EXPECT_TRUE(in.closed() && out.closed());
  EXPECT_EQ(out.receive(), 1);
  EXPECT_EQ(out.try_receive(value), chan_status::ok);
  EXPECT_EQ(out.try_receive_for(value, std::chrono::milliseconds(1)), chan_status::ok);
  EXPECT_EQ(value, 3);
  for (const int more : out) ADD_FAILURE() << more;
  EXPECT_FALSE(static_cast<bool>(send_chan<int>()));
  EXPECT_FALSE(static_cast<bool>(recv_chan<int>(nullptr)));
}

GO_TEST(chan_values, a_channel_of_void_carries_signals) {
  const chan<void> c(1);
  static_assert(std::is_same_v<decltype(c.receive()), bool>);
  c.send();
  EXPECT_EQ(c.size(), 1u);
  EXPECT_EQ(c.try_send(), chan_status::would_block);
  EXPECT_EQ(c.try_send_for(std::chrono::milliseconds(1)), chan_status::timeout);
  EXPECT_TRUE(c.receive());
  EXPECT_EQ(c.try_receive(), chan_status::would_block);
  EXPECT_EQ(c.try_receive_for(std::chrono::milliseconds(1)), chan_status::timeout);
  EXPECT_EQ(c.try_send(), chan_status::ok);
  EXPECT_EQ(c.try_receive(), chan_status::ok);
  c.send();
  c.close();
  EXPECT_TRUE(c.receive());
  EXPECT_FALSE(c.receive());
  EXPECT_EQ(c.try_receive(), chan_status::closed);
  EXPECT_EQ(c.try_send(), chan_status::closed);
  EXPECT_THROW(c.send(), sley::channel_closed);

  const chan<void> rendezvous;
  const send_chan<void> in = rendezvous;
  const recv_chan<void> out = rendezvous;
  sley::go([in] { in.send(); });
  EXPECT_TRUE(out.receive());
}

GO_TEST(chan_values, iteration_ends_at_close_and_can_be_left_early) {
  chan<std::string> lines(64);
  sley::go([lines] {
    for (const char* line : {"one", "two", "three"}) lines.send(line);
    lines.close();
  });
  std::vector<std::string> seen;
  for (const std::string& line : lines) {
    seen.push_back(line);
    if (line == "two") break;
  }
  for (std::string& line : lines) seen.push_back(std::move(line));
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three"}));
}

GO_TEST(chan_values, a_moved_out_element_of_an_iteration_is_the_receivers) {
  chan<std::unique_ptr<int>> c(4);
  for (int i = 0; i < 4; ++i) c.send(std::make_unique<int>(i));
  c.close();
  std::vector<std::unique_ptr<int>> kept;
  for (auto& p : c) kept.push_back(std::move(p));
  ASSERT_EQ(kept.size(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(*kept[static_cast<std::size_t>(i)], i);
}
