// The limit of threads, set_max_threads: one too many is a fatal error, and ended threads do not
// count.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/owned_threads.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using sley::chan;
using sley::run;
using sley_test::occurrences;
using sley_test::run_child;

namespace {

// Starts this number of goroutines that are locked and stay so.
void lock_many(int count) {
  const chan<void> locked;
  for (int i = 0; i < count; ++i) {
    sley::go([locked] {
      sley::this_goroutine::lock_os_thread();
      locked.send();
      sley::block_forever();
    });
    locked.receive();
  }
}

void expect_exhaustion(const sley_test::child_result& child, int limit) {
  EXPECT_EQ(child.status, 2) << child;
  const std::string line = "sley: program exceeds " + std::to_string(limit) + "-thread limit\n";
  EXPECT_EQ(occurrences(child.err, line), 1) << child;
  EXPECT_EQ(occurrences(child.err, "fatal error: thread exhaustion"), 1) << child;
}

}  // namespace

// D8, TestThreadExhaustion
CHILD_MAIN(needs_over_ten_threads) {
  return run([] {
    sley::runtime::set_max_threads(10);
    lock_many(100);
    return 3;
  });
}

TEST(thread_limit, one_thread_too_many_is_fatal_and_says_why) {
  expect_exhaustion(run_child("needs_over_ten_threads"), 10);
}

CHILD_MAIN(lowers_the_limit_too_far) {
  return run([] {
    lock_many(30);
    sley::runtime::set_max_threads(20);
    return 3;
  });
}

TEST(thread_limit, a_limit_below_the_threads_in_use_is_fatal_at_once) {
  expect_exhaustion(run_child("lowers_the_limit_too_far"), 20);
}

CHILD_MAIN(asks_for_the_limit) {
  if (sley::runtime::set_max_threads(500) != 10'000) return 3;
  for (const int n : {0, -1, -10'000}) {
    try {
      sley::runtime::set_max_threads(n);
      return 4;
    } catch (const std::invalid_argument&) {
    }
  }
  if (sley::runtime::set_max_threads(10'000) != 500) return 5;
  return run([] { return sley::runtime::set_max_threads(200) == 10'000 ? 7 : 6; });
}

TEST(thread_limit, the_limit_before_is_returned_and_nonsense_refused) {
  const auto child = run_child("asks_for_the_limit");
  EXPECT_EQ(child.status, 7) << child;
}

CHILD_MAIN(uses_one_thread_after_another) {
  sley::runtime::set_max_threads(40);
  // Threads of the program's own do not count.
  std::vector<std::thread> foreign;
  const chan<void> release;
  for (int i = 0; i < 60; ++i) foreign.emplace_back([release] { release.receive(); });
  const int status = run([] {
    for (int i = 0; i < 100; ++i) {
      if (!sley_test::is_gone(sley_test::end_locked([] {}))) return 3;
    }
    return 7;
  });
  release.close();
  for (auto& thread : foreign) thread.join();
  return status;
}

TEST(thread_limit, threads_that_have_ended_and_foreign_ones_do_not_count) {
  const auto child = run_child("uses_one_thread_after_another");
  EXPECT_EQ(child.status, 7) << child;
}
