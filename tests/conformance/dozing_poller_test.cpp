// Aim: while goroutines find events by looking for them, the poller dozes; and no event and no
// timer is late because of that when they turn to something else. Method: two goroutines send a
// byte to and fro, and then compute, sleep or end.
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include <unistd.h>

using sley::os::pipe_ends;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

namespace {

constexpr auto computing = 30ms;
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

void compute_for(std::chrono::milliseconds time) {
  const auto end = steady::now() + time;
  while (steady::now() < end) {
  }
}

std::chrono::nanoseconds median(std::vector<std::chrono::nanoseconds> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

}  // namespace

// With one processor it is the end of the slice that lets the others run.
GO_TEST(dozing_poller, events_are_noticed_beside_one_that_computes) {
  std::vector<std::chrono::nanoseconds> late;
  for (int i = 0; i < rounds; ++i) {
    const pipe_ends p = sley::os::pipe();
    std::atomic<steady::time_point> sent;
    sley::wait_group reader;
    reader.go([&] {
      take(p);
      late.push_back(steady::now() - sent.load());
    });
    to_and_fro(50);
    std::thread writer([&] {
      std::this_thread::sleep_for(computing / 10);
      sent = steady::now();
      send(p);
    });
    compute_for(computing);
    writer.join();
    reader.wait();
  }
  EXPECT_LT(median(late), computing);
}

GO_TEST(dozing_poller, timers_are_noticed_beside_one_that_computes) {
  std::vector<std::chrono::nanoseconds> late;
  for (int i = 0; i < rounds; ++i) {
    sley::wait_group sleeper;
    sleeper.go([&] {
      const auto due = steady::now() + computing / 3;
      sley::this_goroutine::sleep_until(due);
      EXPECT_GE(steady::now(), due);
      late.push_back(steady::now() - due);
    });
    to_and_fro(50);
    compute_for(computing);
    sleeper.wait();
  }
  EXPECT_LT(median(late), computing);
}

namespace {

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

// The last one to go idle leaves the watch to a poller that dozes. Its thread is woken, and that of
// the goroutine.
GO_TEST(dozing_poller, events_are_noticed_when_all_have_gone_idle) {
  std::vector<std::chrono::nanoseconds> late;
  std::vector<std::chrono::nanoseconds> late_threads;
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
  // sysmon would notice them after 10 ms.
  EXPECT_LT(median(late), 5ms + 2 * median(late_threads));
}
