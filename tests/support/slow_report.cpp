#include "support/slow_report.hpp"

#include "support/dump.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <string>

#include <unistd.h>

namespace sley_test {

namespace {

std::atomic<bool> has_begun{false};

class slow_to_say final : public std::exception {
 public:
  const char* what() const noexcept override {
    has_begun = true;
    sley::this_goroutine::sleep_for(std::chrono::milliseconds(20));
    return "boom-42";
  }
};

[[gnu::noinline]] void throws_slowly_here() { throw slow_to_say(); }

}  // namespace

void start_a_report() {
  sley::go({.name = "worker-7"}, [] { throws_slowly_here(); });
}

void wait_for_a_report() {
  while (!has_begun) ::usleep(100);
}

void expect_whole_report(const child_result& child) {
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_EQ(occurrences(child.err, "uncaught exception"), 1) << child;
  EXPECT_NE(child.err.find("slow_to_say: boom-42\n"), std::string::npos) << child;
  const auto shown = goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << child;
  expect_frame(shown[0], "throws_slowly_here", "slow_report.cpp");
  EXPECT_TRUE(shown[0].mentions("created by ")) << child;
}

}  // namespace sley_test
