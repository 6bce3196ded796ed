// Channels in order and under load: queues of waiters, long chains, the prime sieves of test/chan,
// and goroutines that park on a stack of which most is dead. (What is given back of it while they
// wait is the matter of stress/memory_return_test.cpp.)
#include "support/child.hpp"
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

using sley::chan;
using sley::recv_chan;
using sley::send_chan;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::rounds;

// A12, test/chan/fifo (AsynchFifo)
GO_TEST(chan_fifo, a_buffer_keeps_the_order) {
  chan<int> c(10);
  for (int i = 0; i < 10; ++i) c.send(i);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(c.receive(), i);
}

// A12, test/chan/fifo (SynchFifo): each link waits for its predecessor before it receives.
GO_TEST(chan_fifo, a_daisy_chain_reads_in_sequence) {
  constexpr int links = 100;
  chan<int> values;
  chan<void> start;
  recv_chan<void> in = start;
  for (int i = 0; i < links; ++i) {
    chan<void> out;
    sley::go([values, i, in, out] {
      in.receive();
      EXPECT_EQ(values.receive(), i);
      out.send();
    });
    in = out;
  }
  start.send();
  for (int i = 0; i < links; ++i) values.send(i);
  in.receive();
}

// A12
GO_TEST(chan_fifo, blocked_receivers_are_served_in_the_order_in_which_they_blocked) {
  constexpr int receivers = 20;
  chan<int> c;
  std::vector<std::atomic<int>> got(receivers);
  for (auto& mine : got) {
    mine = -1;
    go_until_parked([c, &mine] { mine = *c.receive(); });
  }
  for (int i = 0; i < receivers; ++i) c.send(i);
  for (std::size_t i = 0; i < receivers; ++i) {
    EXPECT_TRUE(eventually([&] { return got[i] == static_cast<int>(i); })) << got[i];
  }
}

// A12
GO_TEST(chan_fifo, blocked_senders_are_served_in_the_order_in_which_they_blocked) {
  for (const int capacity : {0, 1, 5}) {
    chan<int> c(capacity);
    for (int i = 0; i < capacity; ++i) c.send(i);
    for (int i = 0; i < 20; ++i) go_until_parked([c, i, capacity] { c.send(capacity + i); });
    for (int i = 0; i < capacity + 20; ++i) EXPECT_EQ(c.receive(), i);
  }
}

// A13, test/chan/goroutines
GO_TEST(chan_load, a_chain_of_ten_thousand_goroutines_passes_a_value) {
  const int links = rounds(10000);
  const chan<int> leftmost;
  recv_chan<int> right = leftmost;
  chan<int> left;
  for (int i = 0; i < links; ++i) {
    left = i == 0 ? leftmost : left;
    chan<int> next;
    sley::go([in = recv_chan<int>(next), out = send_chan<int>(left)] { out.send(*in.receive()); });
    left = next;
  }
  sley::go([out = send_chan<int>(left)] { out.send(42); });
  EXPECT_EQ(right.receive(), 42);
}

namespace {

// Uses `depth` frames of at least a page, and returns a number that depends on each of them.
[[gnu::noinline]] int use_stack(int depth) {
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  page[4095] = 1;
  if (depth == 0) return page[4095];
  return use_stack(depth - 1) + page[4095];
}

}  // namespace

// A11, TestNoShrinkStackWhileParking
GO_TEST(chan_load, parking_after_deep_calls_keeps_every_frame) {
  const int tries = rounds(3000);
  constexpr int pairs = 4;
  sley::wait_group group;
  for (int p = 0; p < pairs; ++p) {
    chan<int> ping;
    chan<int> pong;
    group.go([=] {
      for (int i = 0; i < tries; ++i) {
        EXPECT_EQ(use_stack(i % 100 == 0 ? 20 : 0), i % 100 == 0 ? 21 : 1);
        ping.send(i);
        EXPECT_EQ(pong.receive(), i);
      }
      ping.close();
    });
    group.go([=] {
      for (const int value : ping) {
        EXPECT_EQ(use_stack(value % 77 == 0 ? 20 : 0), value % 77 == 0 ? 21 : 1);
        pong.send(value);
      }
    });
  }
  group.wait();
}

namespace {

constexpr std::array<int, 25> first_primes = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                                              43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};

// A sieve of goroutines: each prime found adds one that filters its multiples. The numbers end when
// `limit` is reached, and the stages then end one after the other.
recv_chan<int> sieve(int capacity, int limit) {
  chan<int> primes(capacity);
  sley::go([=] {
    chan<int> numbers(capacity);
    sley::go([=] {
      for (int i = 2; i < limit; ++i) numbers.send(i);
      numbers.close();
    });
    recv_chan<int> stage = numbers;
    while (const auto prime = stage.receive()) {
      primes.send(*prime);
      chan<int> next(capacity);
      sley::go([=] {
        for (const int i : stage) {
          if (i % *prime != 0) next.send(i);
        }
        next.close();
      });
      stage = next;
    }
    primes.close();
  });
  return primes;
}

}  // namespace

// A18, sieve1
GO_TEST(chan_load, an_unbuffered_sieve_finds_the_primes) {
  const recv_chan<int> primes = sieve(0, 100);
  for (const int prime : first_primes) EXPECT_EQ(primes.receive(), prime);
  EXPECT_EQ(primes.receive(), std::nullopt);
}

// A18, sieve2
GO_TEST(chan_load, a_buffered_sieve_finds_the_primes) {
  const recv_chan<int> primes = sieve(50, rounds(4000));
  int count = 0;
  int last = 0;
  for (const int prime : primes) {
    if (count < 25) {
      EXPECT_EQ(prime, first_primes[static_cast<std::size_t>(count)]);
    }
    ++count;
    last = prime;
  }
  EXPECT_EQ(count, rounds(4000) == 4000 ? 550 : 78);
  EXPECT_EQ(last, rounds(4000) == 4000 ? 3989 : 397);
}

CHILD_MAIN(abandons_a_sieve) {
  return sley::run([] {
    const recv_chan<int> primes = sieve(0, 1 << 30);
    for (const int prime : first_primes) {
      if (primes.receive() != prime) return 3;
    }
    return 7;
  });
}

// A18: the process may end with the sieve still blocked in the middle.
TEST(chan_load, a_process_may_leave_blocked_goroutines_behind) {
  const auto child = sley_test::run_child("abandons_a_sieve", {{"ASAN_OPTIONS", "detect_leaks=0"}});
  EXPECT_EQ(child.status, 7) << child;
}
