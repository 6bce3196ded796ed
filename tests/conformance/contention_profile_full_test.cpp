// A profile of waits that has no place for more stacks says how many waits it lacks. It stays full,
// so the test has a process of its own.
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"

#include <sley/debug.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>

using sley_test::not_a_tail_call;
using namespace std::chrono_literals;

namespace {

constexpr unsigned depth = 13;
constexpr std::uint64_t fitting = 4096;
constexpr std::uint64_t stacks = 5000;

}  // namespace

// Waits with a stack that is no other path's.
[[gnu::noinline]] void waits_at(std::uint64_t path, unsigned deeper,
                                sley::counting_semaphore<>& s) {
  if (deeper == 0) {
    s.acquire();
    not_a_tail_call();
  } else if (path % 2 == 0) {
    waits_at(path / 2, deeper - 1, s);
    asm volatile("# left");
  } else {
    waits_at(path / 2, deeper - 1, s);
    asm volatile("# right");
  }
}

GO_TEST(block_profile, counts_waits_with_stacks_that_do_not_fit_as_lost) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  sley::debug::set_block_profile_rate(1ns);
  sley::counting_semaphore<> units(0);
  std::atomic<const void*> waiter{nullptr};
  sley::wait_group end;
  end.go([&] {
    waiter = sley_test::current_goroutine();
    for (std::uint64_t path = 0; path < stacks; ++path) waits_at(path, depth, units);
    waiter = nullptr;
  });
  while (waiter == nullptr) sley::this_goroutine::yield();
  for (std::uint64_t i = 0; i < stacks; ++i) {
    while (!sley_test::is_parked(waiter)) sley::this_goroutine::yield();
    units.release();
  }
  while (waiter != nullptr) sley::this_goroutine::yield();  // a wait would be another one to count
  sley::debug::set_block_profile_rate(0ns);
  end.wait();
  const auto p = sley_test::parse_profile(sley::debug::profile(sley::debug::profile_kind::block));
  EXPECT_GE(p.total_in("lost_waits"), stacks - fitting);
  EXPECT_EQ(p.total_in("waits_at") + p.total_in("lost_waits"), stacks);
}
