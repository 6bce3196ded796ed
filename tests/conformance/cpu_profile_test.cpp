// The CPU profile: samples are where the CPU time goes, and taking them harms nothing. Shares are
// counted in samples of work that CPU clocks measure, so that a busy machine changes neither.
#include "support/burn.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"

#include <sley/debug.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using sley_test::burn;
using sley_test::cpu_time;
using sley_test::eventually;
using sley_test::not_a_tail_call;
using sley_test::parse_profile;
using sley_test::profile_sample;
using sley_test::read_profile;
using namespace std::chrono_literals;
namespace cpu_profile = sley::debug::cpu_profile;

namespace {

constexpr auto interval = 10ms;

[[gnu::noinline]] std::chrono::nanoseconds burns_seven_parts() {
  const auto used = burn(7 * 100ms);
  not_a_tail_call();
  return used;
}
[[gnu::noinline]] std::chrono::nanoseconds burns_three_parts() {
  const auto used = burn(3 * 100ms);
  not_a_tail_call();
  return used;
}
[[gnu::noinline]] void burns_in_a_thread() {
  burn(200ms);
  not_a_tail_call();
}

void expect_within_a_tenth(std::uint64_t samples, std::chrono::nanoseconds used) {
  const double expected = static_cast<double>(used / 1us) / static_cast<double>(interval / 1us);
  EXPECT_NEAR(static_cast<double>(samples), expected, expected / 10);
}

read_profile stopped() { return parse_profile(cpu_profile::stop()); }

void expect_addresses_of_files(const read_profile& p) {
  for (const profile_sample& s : p.samples) {
    ASSERT_FALSE(s.addresses.empty());
    EXPECT_GE(s.values[0], 1u);
    EXPECT_EQ(s.values[1], s.values[0] * std::chrono::nanoseconds(interval).count());
    // The innermost one is where the thread was, and is in a file.
    EXPECT_TRUE(std::ranges::any_of(p.mappings, [&](const auto& m) {
      return m.begin <= s.addresses[0] && s.addresses[0] < m.end;
    })) << s.addresses[0];
  }
}

}  // namespace

GO_TEST(cpu_profile, has_the_shares_of_a_program_that_is_known) {
  sley::this_goroutine::set_name("known");
  const sley::os_thread_lock lock;  // so that one clock measures it
  const auto begin = cpu_time(CLOCK_THREAD_CPUTIME_ID);
  cpu_profile::start();
  const auto seven = burns_seven_parts();
  const auto three = burns_three_parts();
  const auto all = cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin;
  const read_profile p = stopped();
  EXPECT_EQ(p.units, (std::vector<std::string>{"samples/count", "cpu/nanoseconds"}));
  EXPECT_EQ(p.period_unit, "cpu/nanoseconds");
  EXPECT_EQ(p.period, 10'000'000u);
  EXPECT_GE(std::chrono::nanoseconds(p.duration_ns), 1s);
  expect_addresses_of_files(p);
  // The thread sanitizer keeps signals back until the thread makes a call, and loses some.
  if (sley_test::under_tsan) return;
  expect_within_a_tenth(p.total_with("name", "known"), all);
  if (!sley_test::has_line_numbers()) return;
  expect_within_a_tenth(p.total_in("burns_seven_parts"), seven);
  expect_within_a_tenth(p.total_in("burns_three_parts"), three);
}

GO_TEST(cpu_profile, has_threads_that_sley_does_not_know) {
  std::atomic<bool> goes_on = false;
  std::thread other([&] {
    while (!goes_on) std::this_thread::yield();
    burns_in_a_thread();
  });
  cpu_profile::start();
  goes_on = true;
  sley::blocking([&] { other.join(); });
  const read_profile p = stopped();
  expect_addresses_of_files(p);
  const std::uint64_t least = sley_test::under_tsan ? 1 : 15;  // TSan loses some signals, see above
  EXPECT_TRUE(p.total_in("burns_in_a_thread") >= least || !sley_test::has_line_numbers());
}

// They are more than there are processors, so they are stopped in the middle and go on elsewhere.
GO_TEST(cpu_profile, has_goroutines_that_are_preempted) {
  constexpr int burners = 6;
  std::atomic<bool> stops = false;
  sley::wait_group group;
  group.add(burners);
  for (int i = 0; i < burners; ++i) {
    sley::go({.name = "burner " + std::to_string(i)}, [&] {
      while (!stops) asm volatile("");
      group.done();
    });
  }
  std::set<std::string> seen;
  EXPECT_TRUE(eventually([&] {
    cpu_profile::start();
    const auto end = cpu_time(CLOCK_PROCESS_CPUTIME_ID) + 100ms;
    while (cpu_time(CLOCK_PROCESS_CPUTIME_ID) < end) sley::this_goroutine::yield();
    const read_profile p = stopped();
    expect_addresses_of_files(p);
    for (int i = 0; i < burners; ++i) {
      const std::string name = "burner " + std::to_string(i);
      if (p.total_with("name", name) > 0) seen.insert(name);
    }
    return seen.size() == burners;
  }));
  stops = true;
  group.wait();
}

namespace {

void throw_deeply(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  throw_deeply(depth - 1);
  not_a_tail_call();
}

// Switches of all kinds, threads that end, exceptions, malloc.
void do_all_kinds() {
  const sley::chan<int> c;
  sley::wait_group group;
  for (int i = 0; i < 4; ++i) group.go([c] { c.send(1); });
  for (int i = 0; i < 4; ++i) c.receive();
  group.go([] { sley::this_goroutine::lock_os_thread(); });  // the thread ends with it
  group.go([] { sley::this_goroutine::exit(); });
  group.go([] { EXPECT_THROW(throw_deeply(20), std::runtime_error); });
  group.go([] { sley::this_goroutine::set_name(std::string(40, 'x')); });
  sley::blocking([] { return ::getppid(); });
  sley::this_goroutine::yield();
  group.wait();
}

}  // namespace

GO_TEST(cpu_profile, disturbs_no_switch) {
  constexpr int workers = 4;
  cpu_profile::start();
  const auto end = cpu_time(CLOCK_PROCESS_CPUTIME_ID) + 500ms;
  sley::wait_group group;
  for (int i = 0; i < workers; ++i) {
    group.go([&] {
      while (cpu_time(CLOCK_PROCESS_CPUTIME_ID) < end) do_all_kinds();
    });
  }
  group.wait();
  expect_addresses_of_files(stopped());
}

// A thread that sleeps uses no CPU time. poll(2) would return EINTR.
GO_TEST(cpu_profile, disturbs_no_sleep) {
  cpu_profile::start();
  std::atomic<bool> wakes = false;
  sley::wait_group group;
  group.go([&] {
    EXPECT_EQ(sley::blocking([] { return ::poll(nullptr, 0, 200); }), 0);
    wakes = true;
  });
  while (!wakes) sley::this_goroutine::yield();
  group.wait();
  stopped();
}

GO_TEST(cpu_profile, is_one_at_a_time) {
  EXPECT_EQ(cpu_profile::stop(), "");
  cpu_profile::start();
  EXPECT_THROW(cpu_profile::start(), std::logic_error);
  EXPECT_NE(cpu_profile::stop(), "");
  EXPECT_EQ(cpu_profile::stop(), "");
}

GO_TEST(cpu_profile, leaves_a_program_its_handler) {
  static std::atomic<int> handled = 0;
  struct sigaction mine = {};
  mine.sa_handler = [](int) { ++handled; };
  struct sigaction before = {};
  ASSERT_EQ(::sigaction(SIGPROF, &mine, &before), 0);
  EXPECT_THROW(cpu_profile::start(), std::system_error);
  EXPECT_EQ(cpu_profile::stop(), "");
  std::raise(SIGPROF);
  EXPECT_EQ(handled, 1);
  ASSERT_EQ(::sigaction(SIGPROF, &before, nullptr), 0);
  cpu_profile::start();
  std::raise(SIGPROF);  // of another sender: it is none of the profile's, and does nothing
  ::kill(::getpid(), SIGPROF);
  stopped();
  EXPECT_EQ(handled, 1);
  std::raise(SIGPROF);
}
