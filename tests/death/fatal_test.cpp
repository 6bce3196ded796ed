// Fatal errors: what is printed, which goroutines are shown, and how the process ends.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>

using sley::chan;
using sley::run;
using sley_test::expect_frame;
using sley_test::find;
using sley_test::goroutines_in;
using sley_test::occurrences;
using sley_test::rounds;
using sley_test::run_child;
using sley_test::starts_one_here;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

[[gnu::noinline]] void unlocks_here(sley::mutex& m) {
  m.unlock();
  sley_test::not_a_tail_call();
}

}  // namespace

CHILD_MAIN(unlocks_beside_others) {
  return run([] {
    const chan<int> never;
    starts_one_here({.name = "waiter-1"}, never);
    sley::mutex m;
    unlocks_here(m);
    return 3;
  });
}

TEST(fatal_error, ends_with_status_two_and_shows_the_cause_and_all_other_goroutines) {
  const auto child = run_child("unlocks_beside_others");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(child.err.rfind("fatal error: ", 0), 0u) << "says first what happened: " << child;
  EXPECT_NE(child.err.substr(0, child.err.find('\n')).find("unlocked"), std::string::npos) << child;
  const auto shown = goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 2u) << child;
  EXPECT_EQ(shown[0].id, 1) << "the one that did it is first: " << child;
  EXPECT_EQ(shown[0].state, "running") << child;
  expect_frame(shown[0], "unlocks_here", "fatal_test.cpp");
  EXPECT_EQ(find(shown, "waiter-1").state, "chan receive") << child;
  expect_frame(find(shown, "waiter-1"), "parks_here");
}

CHILD_MAIN(unlocks_in_a_thread) {
  const chan<int> never;
  starts_one_here({.name = "waiter-1"}, never);
  sley::mutex m;
  unlocks_here(m);
  return 3;
}

TEST(fatal_error, in_a_foreign_thread_ends_in_the_same_way) {
  const auto child = run_child("unlocks_in_a_thread");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(child.err.rfind("fatal error: ", 0), 0u) << child;
  find(goroutines_in(child.err), "waiter-1");
}

CHILD_MAIN(unlocks_while_all_allocate) {
  return run([] {
    for (int i = 0; i < 6; ++i) sley::go(sley_test::allocate_for_ever);
    this_goroutine::sleep_for(5ms);
    sley::mutex m;
    m.unlock();
    return 3;
  });
}
CHILD_MAIN(many_unlock_at_once) {
  return run([] {
    const chan<int> never;
    for (int i = 0; i < 100; ++i) starts_one_here({.name = "waiter"}, never);
    std::atomic<bool> go{false};
    for (int i = 0; i < 8; ++i) {
      sley::go([&go] {
        while (!go) this_goroutine::yield();
        sley::mutex m;
        m.unlock();
      });
    }
    sley_test::let_others_run();
    go = true;
    sley::block_forever();
    return 3;
  });
}

TEST(fatal_error, ends_the_process_beside_busy_threads) {
  for (int i = 0; i < rounds(5); ++i) {
    const auto child = run_child("unlocks_while_all_allocate");
    ASSERT_EQ(child.status, 2) << child;
    ASSERT_EQ(occurrences(child.err, "fatal error: "), 1) << child;
  }
}

// The others do not end the process while the first one speaks.
TEST(fatal_error, of_many_at_once_is_shown_to_the_end) {
  for (int i = 0; i < rounds(5); ++i) {
    const auto child = run_child("many_unlock_at_once");
    ASSERT_EQ(child.status, 2) << child;
    ASSERT_GE(occurrences(child.err, "fatal error: "), 1) << child;
    const auto shown = goroutines_in(child.err);
    const auto waiters = std::count_if(shown.begin(), shown.end(), [](const auto& g) {
      return g.header.find("waiter") != std::string::npos;
    });
    ASSERT_EQ(waiters, 100) << child;
  }
}
