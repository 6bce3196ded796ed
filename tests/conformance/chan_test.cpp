// Channels: what Go's runtime/chan_test.go asserts, in the words of <sley/chan.hpp>. Each test
// names its row of the list of Go's tests. Where Go sleeps "to make sure" that something has
// blocked, these wait until the runtime counts one park more.
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <vector>

using sley::chan;
using sley::chan_status;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;

static_assert(std::ranges::input_range<const sley::recv_chan<int>>);
static_assert(!std::ranges::range<const sley::send_chan<int>>);

// A2, TestChan (2)
GO_TEST(chan, one_receive_releases_one_blocked_sender) {
  for (int capacity = 0; capacity < 10; ++capacity) {
    chan<int> c(capacity);
    for (int i = 0; i < capacity; ++i) c.send(i);
    std::atomic<int> sent{0};
    for (int i = 0; i < 3; ++i) {
      go_until_parked([c, i, capacity, &sent] {
        c.send(capacity + i);
        ++sent;
      });
    }
    EXPECT_EQ(sent, 0);
    int value = -1;
    EXPECT_EQ(c.try_send(value), chan_status::would_block);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(c.receive(), i);
      EXPECT_TRUE(eventually([&] { return sent == i + 1; }));
      let_others_run();
      EXPECT_EQ(sent, i + 1);
    }
    for (int i = 3; i < capacity + 3; ++i) EXPECT_EQ(c.receive(), i);
  }
}

// A2, TestChan (1)
GO_TEST(chan, receive_from_an_empty_channel_blocks) {
  for (int capacity = 0; capacity < 10; ++capacity) {
    const chan<int> c(capacity);
    std::atomic<bool> received{false};
    for (int form = 0; form < 2; ++form) {
      go_until_parked([&, form] {
        if (form == 0) {
          EXPECT_EQ(c.receive(), 7);
        } else {
          for (const int value : c) {
            EXPECT_EQ(value, 7);
            break;
          }
        }
        received = true;
      });
      EXPECT_FALSE(received);
      int out = 1;
      EXPECT_EQ(c.try_receive(out), chan_status::would_block);
      EXPECT_EQ(out, 1);
      c.send(7);
      EXPECT_TRUE(eventually([&] { return received.exchange(false); }));
    }
  }
}

// A3, TestChan (3)
GO_TEST(chan, close_drains_buffer_then_reports_closed) {
  for (int capacity = 0; capacity < 10; ++capacity) {
    chan<int> c(capacity);
    for (int i = 0; i < capacity; ++i) c.send(i);
    EXPECT_FALSE(c.closed());
    c.close();
    EXPECT_TRUE(c.closed());
    for (int i = 0; i < capacity; ++i) EXPECT_EQ(c.receive(), i);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(c.receive(), std::nullopt);
      int out = 5;
      EXPECT_EQ(c.try_receive(out), chan_status::closed);
      EXPECT_EQ(c.try_receive_for(out, std::chrono::seconds(1)), chan_status::closed);
      EXPECT_EQ(out, 5);
    }
    for (const int value : c) ADD_FAILURE() << "received " << value << " from a drained channel";
  }
}

// A3, TestChan (4)
GO_TEST(chan, close_wakes_every_blocked_receiver) {
  for (int capacity = 0; capacity < 3; ++capacity) {
    chan<int> c(capacity);
    std::atomic<int> woken{0};
    for (int i = 0; i < 10; ++i) {
      go_until_parked([&, c] {
        EXPECT_EQ(c.receive(), std::nullopt);
        ++woken;
      });
    }
    EXPECT_EQ(woken, 0);
    c.close();
    EXPECT_TRUE(eventually([&] { return woken == 10; }));
  }
}

// A5, TestChan (5)
GO_TEST(chan, values_of_one_sender_arrive_in_order) {
  for (int capacity = 0; capacity < 10; ++capacity) {
    for (int form = 0; form < 3; ++form) {
      chan<int> c(capacity);
      sley::go([c] {
        for (int i = 0; i < 100; ++i) c.send(i);
        c.close();
      });
      int expected = 0;
      if (form == 0) {
        while (const auto value = c.receive()) EXPECT_EQ(*value, expected++);
      } else if (form == 1) {
        for (const int value : c) EXPECT_EQ(value, expected++);
      } else {
        int value = -1;
        for (;;) {
          const chan_status status = c.try_receive_for(value, std::chrono::seconds(10));
          if (status != chan_status::ok) break;
          EXPECT_EQ(value, expected++);
        }
      }
      EXPECT_EQ(expected, 100);
    }
  }
}

// A6, TestChan (6)
GO_TEST(chan, each_value_is_received_as_often_as_it_was_sent) {
  constexpr int parties = 4;
  const int values = rounds(1000);
  for (const int capacity : {0, 1, 2, 7, 100, 4000}) {
    chan<int> c(capacity);
    sley::wait_group senders;
    std::vector<std::vector<int>> seen(parties, std::vector<int>(static_cast<std::size_t>(values)));
    for (int p = 0; p < parties; ++p) {
      senders.go([=] {
        for (int i = 0; i < values; ++i) c.send(i);
      });
    }
    sley::wait_group receivers;
    for (auto& mine : seen) {
      receivers.go([c, &mine] {
        for (const int value : c) ++mine.at(static_cast<std::size_t>(value));
      });
    }
    senders.wait();
    c.close();
    receivers.wait();
    for (std::size_t i = 0; i < static_cast<std::size_t>(values); ++i) {
      int total = 0;
      for (const auto& mine : seen) total += mine[i];
      ASSERT_EQ(total, parties) << "value " << i << " at capacity " << capacity;
    }
  }
}

// A7, TestChan (7)
GO_TEST(chan, size_and_capacity_describe_the_buffer) {
  for (std::size_t capacity = 0; capacity < 10; ++capacity) {
    chan<std::size_t> c(capacity);
    EXPECT_EQ(c.size(), 0u);
    EXPECT_EQ(c.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      c.send(i);
      EXPECT_EQ(c.size(), i + 1);
    }
    EXPECT_EQ(c.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(c.receive(), i);
      EXPECT_EQ(c.size(), capacity - i - 1);
    }
  }
}

// A8, TestNonblockRecvRace
GO_TEST(chan, try_receive_never_blocks_on_a_buffered_or_closed_channel) {
  const int tries = rounds(10000);
  for (int i = 0; i < tries; ++i) {
    chan<int> c(1);
    chan<chan_status> result(1);
    c.send(1);
    sley::go([c, result] {
      int out = 0;
      result.send(c.try_receive(out));
    });
    c.close();
    (void)c.receive();
    ASSERT_NE(result.receive(), chan_status::would_block) << "in try " << i;
  }
}

// A9, TestMultiConsumer
GO_TEST(chan, workers_between_two_channels_lose_nothing) {
  constexpr std::array<int, 10> primes = {2, 3, 7, 11, 13, 17, 19, 23, 27, 31};
  constexpr int workers = 23;
  const int items = rounds(271828);
  chan<int> tasks(workers * 3);
  chan<int> results(workers * 3);
  sley::wait_group running;
  for (std::size_t w = 0; w < workers; ++w) {
    running.go([=] {
      for (const int value : tasks) {
        // Some give way at some values, which mixes up the order.
        if (primes[w % primes.size()] == value) sley::this_goroutine::yield();
        results.send(value);
      }
    });
  }
  std::int64_t expected = 0;
  sley::go([&, tasks, results] {
    for (int i = 0; i < items; ++i) {
      const int value = primes[static_cast<std::size_t>(i) % primes.size()];
      expected += value;
      tasks.send(value);
    }
    tasks.close();
    running.wait();
    results.close();
  });
  int count = 0;
  std::int64_t sum = 0;
  for (const int value : results) {
    ++count;
    sum += value;
  }
  EXPECT_EQ(count, items);
  EXPECT_EQ(sum, expected);
}

// A17, TestRuntimePanicWithRuntimeError
GO_TEST(chan, closing_a_closed_or_nil_channel_throws) {
  chan<int> c(1);
  c.close();
  EXPECT_THROW(c.close(), sley::channel_closed);
  EXPECT_TRUE(c.closed());
  EXPECT_THROW(chan<int>(nullptr).close(), sley::channel_closed);
  EXPECT_THROW(sley::send_chan<int>().close(), sley::channel_closed);
  EXPECT_THROW(chan<void>(nullptr).close(), sley::channel_closed);
  try {
    c.close();
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()), "");
  }
}

// A17
GO_TEST(chan, sending_on_a_closed_channel_throws) {
  for (int capacity = 0; capacity < 3; ++capacity) {
    chan<int> c(capacity);
    if (capacity == 2) c.send(1);
    c.close();
    EXPECT_THROW(c.send(1), sley::channel_closed);
    int value = 3;
    EXPECT_EQ(c.try_send(value), chan_status::closed);
    EXPECT_EQ(c.try_send(4), chan_status::closed);
    EXPECT_EQ(c.try_send_for(value, std::chrono::seconds(1)), chan_status::closed);
  }
}

// A17: the error surfaces in the blocked sender's own frame.
GO_TEST(chan, close_throws_in_every_blocked_sender) {
  for (int capacity = 0; capacity < 3; ++capacity) {
    chan<int> c(capacity);
    for (int i = 0; i < capacity; ++i) c.send(i);
    std::atomic<int> thrown{0};
    for (int i = 0; i < 5; ++i) {
      go_until_parked([&, c] {
        EXPECT_THROW(c.send(100), sley::channel_closed);
        ++thrown;
      });
    }
    go_until_parked([&, c] {
      EXPECT_EQ(c.try_send_for(100, std::chrono::hours(1)), chan_status::closed);
      ++thrown;
    });
    c.close();
    EXPECT_TRUE(eventually([&] { return thrown == 6; }));
    // Buffered values stay; the blocked senders' values are lost.
    for (int i = 0; i < capacity; ++i) EXPECT_EQ(c.receive(), i);
    EXPECT_EQ(c.receive(), std::nullopt);
  }
}

// A17
GO_TEST(chan, an_impossible_capacity_throws_length_error) {
  const auto with_capacity = [](auto capacity) { (void)chan<int>(capacity); };
  EXPECT_THROW(with_capacity(-1), std::length_error);
  EXPECT_THROW(with_capacity(std::size_t{1} << 50), std::length_error);
  EXPECT_THROW(with_capacity(std::numeric_limits<int>::min()), std::length_error);
  EXPECT_THROW(with_capacity(std::numeric_limits<std::int64_t>::min()), std::length_error);
  EXPECT_THROW(with_capacity(std::numeric_limits<std::int64_t>::max()), std::length_error);
  EXPECT_THROW(with_capacity(std::numeric_limits<std::size_t>::max()), std::length_error);
  EXPECT_THROW(with_capacity(std::numeric_limits<std::size_t>::max() / sizeof(int)),
               std::length_error);
  using large = std::array<char, 1000>;
  EXPECT_THROW((void)chan<large>(std::numeric_limits<std::size_t>::max() / 999), std::length_error);
  EXPECT_THROW((void)chan<void>(-1), std::length_error);
}

// A2 for the nil channel, TestChan (1): nothing is ever ready.
GO_TEST(chan, the_nil_channel_is_never_ready) {
  const chan<int> nil(nullptr);
  int value = 1;
  EXPECT_EQ(nil.try_send(value), chan_status::would_block);
  EXPECT_EQ(nil.try_receive(value), chan_status::would_block);
  EXPECT_EQ(nil.try_send_for(value, std::chrono::milliseconds(2)), chan_status::timeout);
  EXPECT_EQ(nil.try_receive_for(value, std::chrono::milliseconds(2)), chan_status::timeout);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(nil.size(), 0u);
  EXPECT_EQ(nil.capacity(), 0u);
  EXPECT_FALSE(nil.closed());
  EXPECT_FALSE(static_cast<bool>(nil));
}
