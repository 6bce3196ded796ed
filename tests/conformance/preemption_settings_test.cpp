// The settings of SLEYDEBUG that preemption has: slice=N and asyncpreemptoff=1.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

using sley::runtime::read_stats;
using sley_test::run_child;
using namespace std::chrono_literals;

// A goroutine computes, and the main goroutine wants to go on meanwhile.
CHILD_MAIN(computes_for_a_while) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    std::atomic<bool> ended{false};
    sley::wait_group group;
    group.go([&ended] {
      sley_test::compute_for(300ms);
      ended = true;
    });
    sley::this_goroutine::yield();
    const bool waited = ended;
    group.wait();
    const auto stats = read_stats();
    const char* what = waited ? "waited" : stats.retakes > 0 ? "taken" : "went on";
    std::printf("%s, %llu preemptions", what, static_cast<unsigned long long>(stats.preemptions));
    return 7;
  });
}

namespace {

// The hog may have found at its end that it has to make room.
bool is_without_signals(const std::string& out) {
  // There slices end by chance as well, and that is counted.
  if (sley_test::under_chaos) return out.starts_with("waited") || out.starts_with("taken");
  for (const char* text : {"waited, 0 ", "waited, 1 ", "taken, 0 ", "taken, 1 "}) {
    if (out.starts_with(text)) return true;
  }
  return false;
}

}  // namespace

TEST(preemption, may_be_switched_off) {
  const auto child = run_child("computes_for_a_while", {{"SLEYDEBUG", "asyncpreemptoff=1"}});
  EXPECT_EQ(child.status, 7) << child;
  // Taken: a thread that gets no CPU for a while looks like one that is asleep.
  EXPECT_TRUE(is_without_signals(child.out)) << child;
  EXPECT_EQ(child.err, "") << child;
  const auto on = run_child("computes_for_a_while", {{"SLEYDEBUG", "asyncpreemptoff=0"}});
  EXPECT_EQ(on.status, 7) << on;
  EXPECT_EQ(on.out.find("waited"), std::string::npos) << on;
}

// Prints how often two goroutines were preempted in a second.
CHILD_MAIN(counts_preemptions) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    std::atomic<bool> stop{false};
    sley::wait_group group;
    for (int i = 0; i < 2; ++i) {
      group.go([&stop] {
        while (!stop) {
        }
      });
    }
    sley::this_goroutine::sleep_for(1s);
    stop = true;
    group.wait();
    std::printf("%llu", static_cast<unsigned long long>(read_stats().preemptions));
    return 7;
  });
}

TEST(preemption, has_slices_as_long_as_asked_for) {
  const auto count = [](const char* setting) {
    const auto child = run_child("counts_preemptions", {{"SLEYDEBUG", setting}});
    EXPECT_EQ(child.status, 7) << child;
    EXPECT_EQ(child.err, "") << child;
    return std::strtol(child.out.c_str(), nullptr, 10);
  };
  const long coarse = count("slice=50");
  const long fine = count("slice=1");
  EXPECT_GE(coarse, 2);
  EXPECT_GE(fine, 4 * coarse);
}

CHILD_MAIN(says_seven) {
  return sley::run([] { return 7; });
}

TEST(preemption, a_setting_without_sense_is_one_line_on_stderr_and_the_default) {
  for (const char* value :
       {"slice=0", "slice=101", "slice=-1", "slice=abc", "slice=5x", "slice=", "slice",
        "slice=99999999999999999999", "asyncpreemptoff=2", "asyncpreemptoff=yes", "slicer=5"}) {
    const auto child = run_child("says_seven", {{"SLEYDEBUG", value}});
    EXPECT_EQ(child.status, 7) << value << ": " << child;
    EXPECT_NE(child.err.find("SLEYDEBUG"), std::string::npos) << value << ": " << child;
    EXPECT_NE(child.err.find(value), std::string::npos) << value << ": " << child;
    EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << value << ": " << child;
  }
  for (const char* value : {"", "slice=1", "slice=100", "asyncpreemptoff=0", "asyncpreemptoff=1",
                            "slice=20,asyncpreemptoff=1", "asyncpreemptoff=0,slice=20"}) {
    const auto child = run_child("says_seven", {{"SLEYDEBUG", value}});
    EXPECT_EQ(child.status, 7) << value << ": " << child;
    EXPECT_EQ(child.err, "") << value << ": " << child;
  }
  // The rest of the line counts.
  const auto child =
      run_child("computes_for_a_while", {{"SLEYDEBUG", "slice=0,asyncpreemptoff=1"}});
  EXPECT_TRUE(is_without_signals(child.out)) << child;
  EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << child;
}
