// Processes and threads that end while goroutines are there: exit(3) anywhere, static objects that
// use the library when they are destroyed, and pthread_exit(3), which is not for goroutines.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <pthread.h>

using sley::chan;
using sley_test::run_child;
using namespace std::chrono_literals;

namespace {

// Parked, sleeping, computing and blocking ones.
void start_some_of_all_kinds() {
  for (int i = 0; i < 20; ++i) {
    sley::go([] { chan<void>().receive(); });
    sley::go([] { sley::this_goroutine::sleep_for(1h); });
    sley::go([] {
      static std::atomic<long> steps{0};
      for (;;) ++steps;
    });
    sley::go([] { sley::blocking([] { std::system("exit 0"); }); });
  }
  sley::this_goroutine::sleep_for(5ms);
}

struct talks_at_the_end {
  chan<int> channel{1};
  ~talks_at_the_end() {
    channel.send(5);
    std::printf("%d %d\n", *channel.receive(), sley::async([] { return 6; }).get());
  }
};

}  // namespace

CHILD_MAIN(exits_in_main) {
  return sley::run([] {
    start_some_of_all_kinds();
    std::exit(7);
  });
}
CHILD_MAIN(exits_in_a_goroutine) {
  return sley::run([] {
    start_some_of_all_kinds();
    sley::go([] { std::exit(7); });
    chan<void>().receive();
  });
}
CHILD_MAIN(returns_from_main) {
  sley::run([] { start_some_of_all_kinds(); });
  return 7;
}

TEST(endings, of_a_process_do_not_wait_for_goroutines) {
  for (const char* name : {"exits_in_main", "exits_in_a_goroutine", "returns_from_main"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
  }
}

CHILD_MAIN(talks_in_static_destructors) {
  static const talks_at_the_end before;
  sley::run([] { start_some_of_all_kinds(); });
  static const talks_at_the_end after;
  return 7;
}

TEST(endings, of_static_objects_may_use_the_library) {
  const auto child = run_child("talks_in_static_destructors");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.out, "5 6\n5 6\n") << child;
}

CHILD_MAIN(ends_its_thread) {
  return sley::run([] {
    sley::go([] { ::pthread_exit(nullptr); });
    sley::block_forever();
  });
}

CHILD_MAIN(ends_its_thread_on_this_thread) {
  return sley::run({.on_this_thread = true}, [] { ::pthread_exit(nullptr); });
}

TEST(endings, of_a_goroutines_thread_are_a_fatal_error_that_says_so) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it ends the thread its own way";
  for (const char* name : {"ends_its_thread", "ends_its_thread_on_this_thread"}) {
    const auto child = run_child(name);
    EXPECT_TRUE(child.failed()) << name << ": " << child;
    EXPECT_NE(child.err.find("pthread_exit() or pthread_cancel() in a goroutine"),
              std::string::npos)
        << name << ": " << child;
  }
}
