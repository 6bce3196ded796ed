// Goroutines that are preempted, as often as a test needs it.
#pragma once

#include "support/harness.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace sley_test {

// Goroutines that call body(stop, i) once, with room for what the C++ library does with stacks, and
// must be preempted `times` times in all while they are in it. `stop` is set then, and all have
// ended when it returns.
template <class Body>
void preempt(int goroutines, std::uint64_t times, Body body) {
  const auto preemptions = [] { return sley::runtime::read_stats().preemptions; };
  const auto before = preemptions();
  std::atomic<bool> stop{false};
  sley::wait_group group;
  group.add(goroutines);
  for (int i = 0; i < goroutines; ++i) {
    sley::go(sley::go_options{.stack_size = 4 << 20}, [&, i] {
      body(std::as_const(stop), i);
      group.done();
    });
  }
  EXPECT_TRUE(eventually([&] { return preemptions() >= before + times; }))
      << preemptions() - before << " preemptions instead of " << times;
  stop = true;
  group.wait();
}

// The body again and again in two goroutines on one processor.
template <class Body>
void preempt_in_the_middle_of(Body body) {
  const processors one(1);
  preempt(2, 16, [&body](const std::atomic<bool>& stop, int) {
    while (!stop) body();
  });
}

}  // namespace sley_test
