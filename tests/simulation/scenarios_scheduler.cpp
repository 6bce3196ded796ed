// Goroutines, processors, threads, sysmon, preemption and the stopped world.
#include "scenarios.hpp"

#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

namespace sley_test {

namespace {

using namespace std::chrono_literals;
using sley::testing::check;
using sley::testing::point;
using std::chrono::steady_clock;

int count_leaves(int depth) {
  if (depth == 0) return 1;
  const sley::chan<int> result;
  for (int i = 0; i < 2; ++i) {
    sley::go([=] { result.send(count_leaves(depth - 1)); });
  }
  return *result.receive() + *result.receive();
}

void a_tree_of_goroutines() { check(count_leaves(4) == 16, "each leaf is counted once"); }

// Fills a processor's ring, which holds 256, and spills.
void more_than_a_ring_holds() {
  int ran = 0;
  sley::mutex m;
  sley::wait_group all;
  for (int i = 0; i < 300; ++i) {
    all.go([&] {
      const std::lock_guard held(m);
      ++ran;
    });
  }
  all.wait();
  check(ran == 300, "every goroutine runs once");
}

void yields() {
  int rounds = 0;
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([] {
      for (int n = 0; n < 20; ++n) sley::this_goroutine::yield();
    });
  }
  all.go([&] {
    for (; rounds < 20; ++rounds) sley::this_goroutine::yield();
  });
  all.wait();
  check(rounds == 20, "every goroutine gets turns");
}

void exits_and_unwinds() {
  int destroyed = 0;
  struct counted {
    int& n;
    ~counted() { ++n; }
  };
  sley::wait_group all;
  all.go([&] {
    const counted c{destroyed};
    sley::this_goroutine::exit();
  });
  all.wait();
  check(destroyed == 1, "the stack is unwound");
}

// Pure computation, so far as a simulation sees it: nothing parks.
void compute(int steps) {
  for (int i = 0; i < steps; ++i) point();
}

void hogs_and_a_ticker() {
  std::atomic<bool> is_over = false;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      while (!is_over) compute(50);
    });
  }
  for (int i = 0; i < 2; ++i) sley::this_goroutine::sleep_for(1ms);
  is_over = true;
  all.wait();
}

void threads_asleep_in_the_kernel() {
  const auto start = steady_clock::now();
  sley::wait_group all;
  for (int i = 0; i < 6; ++i) {
    all.go([] { usleep(20'000); });
  }
  all.go([] {
    for (int i = 0; i < 5; ++i) sley::this_goroutine::sleep_for(1ms);
  });
  all.wait();
  check(steady_clock::now() - start >= 20ms, "no goroutine wakes early");
}

void announced_calls() {
  int done = 0;
  sley::mutex m;
  sley::wait_group all;
  for (int i = 0; i < 5; ++i) {
    all.go([&, i] {
      sley::blocking([&] {
        usleep(static_cast<useconds_t>(10 * i));
        sley::blocking([] { usleep(100); });
      });
      const std::lock_guard held(m);
      ++done;
    });
  }
  all.wait();
  check(done == 5, "every goroutine comes back");
}

void locked_threads() {
  const sley::chan<int> ping;
  const sley::chan<int> pong;
  sley::wait_group all;
  all.go([=] {
    const sley::os_thread_lock lock;
    for (int i = 0; i < 10; ++i) pong.send(*ping.receive() + 1);
  });
  all.go([] { sley::this_goroutine::lock_os_thread(); });  // its thread ends with it
  for (int i = 0; i < 10; ++i) {
    ping.send(i);
    check(*pong.receive() == i + 1, "the locked one answers");
  }
  all.wait();
}

void processors_come_and_go() {
  const sley::chan<int> values(2);
  sley::wait_group receiving;
  sley::wait_group sending;
  int sum = 0;
  receiving.go([&] {
    for (const int v : values) sum += v;
  });
  for (int i = 0; i < 3; ++i) {
    sending.go([=] {
      for (int n = 1; n <= 10; ++n) values.send(n);
    });
  }
  for (const int n : {3, 1, 5, 2}) {
    sley::runtime::set_max_procs(n);
    check(sley::runtime::max_procs() == n, "as many as were asked for");
  }
  sending.wait();
  values.close();
  receiving.wait();
  check(sum == 3 * 55, "no value is lost");
}

// Asks when sysmon looks seldom, which may then be about to look for a deadlock.
void the_last_goroutine_asks_for_processors() {
  for (int n = 1; n <= 4; ++n) {
    for (int i = 0; i < 25; ++i) {
      usleep(static_cast<useconds_t>(890 + n));
      sley::wait_group one;
      one.go([] {});
      one.wait();
    }
    sley::runtime::set_max_procs(n);
  }
}

void the_world_stops_beside_hogs() {
  std::atomic<bool> is_over = false;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      while (!is_over) compute(20);
    });
  }
  sley::runtime::set_max_procs(1);
  sley::runtime::set_max_procs(4);
  is_over = true;
  all.wait();
}

void exceptions_across_parks() {
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([i] {
      try {
        throw i;
      } catch (const int caught) {
        sley::this_goroutine::yield();
        try {
          sley::this_goroutine::yield();
          throw caught + 1;
        } catch (const int inner) {
          check(inner == i + 1, "each has its own exceptions");
        }
        check(caught == i, "each has its own exceptions");
      }
    });
  }
  all.wait();
}

constexpr scenario scenarios[] = {
    {"a_tree_of_goroutines", a_tree_of_goroutines},
    {"more_than_a_ring_holds", more_than_a_ring_holds},
    {"yields", yields},
    {"exits_and_unwinds", exits_and_unwinds},
    {"hogs_and_a_ticker", hogs_and_a_ticker},
    {"threads_asleep_in_the_kernel", threads_asleep_in_the_kernel},
    {"announced_calls", announced_calls},
    {"locked_threads", locked_threads},
    {"processors_come_and_go", processors_come_and_go},
    {"the_last_goroutine_asks_for_processors", the_last_goroutine_asks_for_processors},
    {"the_world_stops_beside_hogs", the_world_stops_beside_hogs},
    {"exceptions_across_parks", exceptions_across_parks},
};

}  // namespace

std::span<const scenario> scheduler_scenarios() { return scenarios; }

}  // namespace sley_test
