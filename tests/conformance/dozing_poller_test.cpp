// Aim: while goroutines find events by looking for them, the poller dozes; and no event and no
// timer is late because of that when they turn to something else. Method: two goroutines send a
// byte to and fro, and then compute, sleep or end.
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <unistd.h>

using sley::os::pipe_ends;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr int rounds = 20;  // in every build: a median of a few says nothing on a busy machine

void send(const pipe_ends& to) { to.writer.write_all(std::as_bytes(std::span("x", 1))); }
void take(const pipe_ends& from) {
  std::byte byte[1];
  EXPECT_EQ(from.reader.read_some(byte), 1U);
}

void to_and_fro(int times) {
  const pipe_ends there = sley::os::pipe();
  const pipe_ends back = sley::os::pipe();
  sley::wait_group other;
  other.go([&] {
    for (int i = 0; i < times; ++i) {
      take(there);
      send(back);
    }
  });
  for (int i = 0; i < times; ++i) {
    send(there);
    take(back);
  }
  other.wait();
}

}  // namespace

// With one processor it is the end of the slice that lets the others run.
GO_TEST(dozing_poller, events_are_noticed_beside_one_that_computes) {
  for (int i = 0; i < rounds; ++i) {
    const pipe_ends p = sley::os::pipe();
    std::atomic<bool> is_noticed{false};
    sley::wait_group reader;
    reader.go([&] {
      take(p);
      is_noticed = true;
    });
    to_and_fro(50);
    std::thread writer([&] {
      std::this_thread::sleep_for(3ms);
      send(p);
    });
    EXPECT_TRUE(sley_test::spin_until([&] { return is_noticed.load(); }));
    writer.join();
    reader.wait();
  }
}

GO_TEST(dozing_poller, timers_are_noticed_beside_one_that_computes) {
  for (int i = 0; i < rounds; ++i) {
    std::atomic<bool> is_noticed{false};
    sley::wait_group sleeper;
    sleeper.go([&] {
      const auto due = steady::now() + 10ms;
      sley::this_goroutine::sleep_until(due);
      EXPECT_GE(steady::now(), due);
      is_noticed = true;
    });
    to_and_fro(50);
    EXPECT_TRUE(sley_test::spin_until([&] { return is_noticed.load(); }));
    sleeper.wait();
  }
}

namespace {

using times = std::vector<std::chrono::nanoseconds>;

std::chrono::nanoseconds median(times all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

std::chrono::nanoseconds mean(const times& all) {
  return std::accumulate(all.begin(), all.end(), 0ns) / all.size();
}

// How late a thread reads a byte that another one writes: what this machine takes to wake it.
std::chrono::nanoseconds lateness_of_a_thread() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::atomic<steady::time_point> sent;
  std::thread writer([&] {
    std::this_thread::sleep_for(1ms);
    sent = steady::now();
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
  });
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  const auto late = steady::now() - sent.load();
  writer.join();
  ::close(ends[0]);
  ::close(ends[1]);
  return late;
}

}  // namespace

// The last one to go idle leaves the watch to a poller that dozes.
GO_TEST(dozing_poller, events_are_noticed_when_all_have_gone_idle) {
  times late;
  times late_threads;
  for (int i = 0; i < 5 * rounds; ++i) {
    const pipe_ends p = sley::os::pipe();
    std::atomic<steady::time_point> sent;
    to_and_fro(20);
    std::thread writer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(20 * i));
      sent = steady::now();
      send(p);
    });
    take(p);
    late.push_back(steady::now() - sent.load());
    writer.join();
    late_threads.push_back(lateness_of_a_thread());
  }
  // sysmon would notice them after 10 ms. A few threads are woken for each, one by the other.
  EXPECT_LT(median(late), 5ms + 4 * mean(late_threads));
}
