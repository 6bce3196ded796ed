// Clocks that jump, and processes that are stopped. All times of the library are of
// CLOCK_MONOTONIC, which does not move when the clock is set: here CLOCK_REALTIME jumps by years at
// each look. A stopped process misses timers that are due. When it goes on, each timer fires, and
// tickers do not make up for the ticks that they have missed.
#include "support/child.hpp"
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/time.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <system_error>

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using sley::chan;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

namespace {

std::atomic<std::uint64_t> looks{0};

}  // namespace

// Replaces libc's, for the library, for libstdc++ and for this program.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  constexpr std::int64_t year = 365 * 24 * 3600;
  if (clock == CLOCK_REALTIME) time->tv_sec += ++looks % 2 == 0 ? 10 * year : -10 * year;
  return static_cast<int>(result);
}

GO_TEST(clock_jumps, move_no_timer) {
  const auto before = std::chrono::system_clock::now();
  EXPECT_GT(std::chrono::abs(std::chrono::system_clock::now() - before), 24h) << "it does not jump";
  const auto took = [](auto f) {
    const auto start = steady_clock::now();
    f();
    return steady_clock::now() - start;
  };
  const auto expect_on_time = [&](auto f) {
    const nanoseconds time = took(f);
    EXPECT_GE(time, 20ms);
    EXPECT_LT(time, 10s);
  };
  const chan<void> never;
  expect_on_time([] { sley::this_goroutine::sleep_for(20ms); });
  expect_on_time([] { sley::after(20ms).receive(); });
  expect_on_time([&] { sley::select(sley::on_receive(never), sley::on_timeout(20ms)); });
  expect_on_time([] {
    const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 20ms);
    ctx.done().receive();
  });
  expect_on_time([] {
    const sley_test::tcp_pair c = sley_test::connect_tcp();
    c.server.set_read_deadline(steady_clock::now() + 20ms);
    EXPECT_EQ(sley_test::read_error(c.server), std::errc::timed_out);
  });
  expect_on_time([] {
    sley::ticker ticker(5ms);
    for (int i = 0; i < 4; ++i) ticker.channel().receive();
  });
  expect_on_time([] {
    sley::mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock_for(20ms));
    m.unlock();
  });
}

#endif

namespace {

std::atomic<int> continued{0};

// Stops this process; a shell lets it go on, again and again. The first time may have come before
// the stop, so it is awaited twice.
void be_stopped_for_a_while() {
  struct sigaction action = {};
  action.sa_flags = SA_RESTART;
  action.sa_handler = [](int) { ++continued; };
  ::sigaction(SIGCONT, &action, nullptr);
  auto shell = sley::os::process::start(
      {.program = "sh", .arguments = {"-c", "while sleep 0.15; do kill -CONT $PPID; done"}});
  ::kill(::getpid(), SIGSTOP);
  EXPECT_TRUE(sley_test::eventually([] { return continued >= 2; }));
  shell.kill(SIGKILL);
  shell.wait();
}

}  // namespace

CHILD_MAIN(is_stopped_with_timers) {
  return sley::run([] {
    sley::ticker ticker(5ms);
    sley::wait_group sleepers;
    std::atomic<int> woken{0};
    for (int i = 1; i <= 100; ++i) {
      sleepers.go([&woken, i] {
        const auto until = steady_clock::now() + i * 1ms;
        sley::this_goroutine::sleep_until(until);
        EXPECT_GE(steady_clock::now(), until);
        ++woken;
      });
    }
    const auto before = steady_clock::now();
    be_stopped_for_a_while();
    EXPECT_GE(steady_clock::now() - before, 100ms);
    sleepers.wait();
    EXPECT_EQ(woken, 100);
    // One tick may wait in the channel, and one be sent at once.
    const auto start = steady_clock::now();
    for (int i = 0; i < 6; ++i) ticker.channel().receive();
    EXPECT_GE(steady_clock::now() - start, 3 * 5ms) << "ticks are made up for";
    return sley_test::verdict();
  });
}

TEST(stopped_process, goes_on_with_each_timer_once) {
  const auto child = sley_test::run_child("is_stopped_with_timers");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}
