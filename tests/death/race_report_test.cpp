// A report of the thread sanitizer says which goroutine it is about.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <atomic>
#include <string>
#include <thread>

using sley_test::contains_match;
using sley_test::run_child;

namespace {

int shared_without_a_lock = 0;

void add_many() {
  for (int i = 0; i < 100'000; ++i) ++shared_without_a_lock;
}

}  // namespace

// A thread and a goroutine, so that no scheduler puts one behind the other.
CHILD_MAIN(races) {
  return sley::run([] {
    std::atomic<int> begun = 0;
    const auto race = [&begun] {
      ++begun;
      while (begun != 2) std::this_thread::yield();
      add_many();
    };
    sley::wait_group end;
    end.add(1);
    sley::go({.name = "first name"}, [&] {
      sley::this_goroutine::set_name("left");
      race();
      end.done();
    });
    std::thread other(race);
    sley::blocking([&other] { other.join(); });
    end.wait();
    return 3;
  });
}

TEST(race_report, names_the_goroutine) {
  if (!sley_test::under_tsan) GTEST_SKIP() << "there is no thread sanitizer";
  const auto child = run_child("races");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_TRUE(contains_match(child.err, "WARNING: ThreadSanitizer: data race")) << child;
  EXPECT_TRUE(contains_match(child.err, "Thread T[0-9]+ 'goroutine [0-9]+ left' ")) << child;
}
