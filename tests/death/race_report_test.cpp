// Reports of the thread sanitizer say which goroutine they are about, and where that was started.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using sley_test::contains_match;
using sley_test::run_child;

namespace {

int shared_without_a_lock = 0;

void add_many() {
  for (int i = 0; i < 100'000; ++i) ++shared_without_a_lock;
}

template <class F>
[[gnu::noinline]] void start_left(F f) {
  sley::go({.name = "first name"}, std::move(f));
}

// The stack below the line that names the goroutine.
std::string creation_of(std::string_view goroutine, const std::string& report) {
  const std::size_t name = report.find(goroutine);
  if (name == std::string::npos) return {};
  const std::size_t begin = report.find("created by", name);
  return report.substr(begin, report.find("\n\n", begin) - begin);
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
    start_left([&] {
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
  EXPECT_TRUE(contains_match(creation_of(" left' ", child.err), "start_left")) << child;
}
