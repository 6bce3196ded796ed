// The settings of SLEYDEBUG that preemption has: slice=N and asyncpreemptoff=1.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

using sley::runtime::read_stats;
using namespace std::chrono_literals;

// A goroutine computes, and the main goroutine wants to go on meanwhile, which stops it.
CHILD_MAIN(computes_until_others_run) {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    std::atomic<bool> stop{false};
    sley::wait_group group;
    group.go([&stop] {
      while (!stop) {
      }
    });
    sley::this_goroutine::yield();
    stop = true;
    group.wait();
    return 7;
  });
}

// The same, but it ends by itself: a goroutine that must wait for it does not wait for ever.
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

// Chaos, where it is built in, would end slices by chance.
sley_test::child_result run_child(const char* name, const char* settings) {
  return sley_test::run_child(name, {{"SLEYDEBUG", settings}, {"SLEY_SEED", "0"}});
}

// The hog may have found at its end that it has to make room.
bool is_without_signals(const std::string& out) {
  for (const char* text : {"waited, 0 ", "waited, 1 ", "taken, 0 ", "taken, 1 "}) {
    if (out.starts_with(text)) return true;
  }
  return false;
}

}  // namespace

TEST(preemption, may_be_switched_off) {
  const auto child = run_child("computes_for_a_while", "asyncpreemptoff=1");
  EXPECT_EQ(child.status, 7) << child;
  // Taken: a thread that gets no CPU for a while looks like one that is asleep.
  EXPECT_TRUE(is_without_signals(child.out)) << child;
  EXPECT_EQ(child.err, "") << child;
  const auto on = run_child("computes_until_others_run", "asyncpreemptoff=0");
  EXPECT_EQ(on.status, 7) << on;
}

namespace {

// Two goroutines compute. The main goroutine runs when one of them has been preempted, and measures
// the time from one such moment to the next. A processor that was taken from a thread which got no
// CPU and looked asleep does not count. Returns the shortest time as soon as it is enough.
template <class F>
std::chrono::nanoseconds shortest_slice(F is_enough) {
  sley::runtime::set_max_procs(1);
  std::atomic<bool> stop{false};
  sley::wait_group group;
  for (int i = 0; i < 2; ++i) {
    group.go([&stop] {
      while (!stop) {
      }
    });
  }
  sley::this_goroutine::yield();
  std::chrono::nanoseconds shortest = std::chrono::nanoseconds::max();
  for (int slices = 0; !is_enough(slices, shortest);) {
    const auto retakes = read_stats().retakes;
    const auto start = std::chrono::steady_clock::now();
    sley::this_goroutine::yield();
    const std::chrono::nanoseconds slice = std::chrono::steady_clock::now() - start;
    if (read_stats().retakes != retakes) continue;
    shortest = std::min(shortest, slice);
    ++slices;
  }
  stop = true;
  group.wait();
  return shortest;
}

}  // namespace

CHILD_MAIN(has_no_slice_shorter_than_50_ms) {
  return sley::run([] {
    EXPECT_GE(shortest_slice([](int slices, auto) { return slices == 10; }), 50ms);
    return sley_test::verdict();
  });
}
// On a busy machine it may take a while to see one.
CHILD_MAIN(has_a_slice_shorter_than_50_ms) {
  return sley::run([] {
    EXPECT_LT(shortest_slice([](int, auto shortest) { return shortest < 50ms; }), 50ms);
    return sley_test::verdict();
  });
}

TEST(preemption, has_slices_as_long_as_asked_for) {
  const auto expect_seen = [](const char* name, const char* setting) {
    const auto child = run_child(name, setting);
    EXPECT_EQ(child.status, 7) << child;
    EXPECT_EQ(child.err, "") << child;
  };
  expect_seen("has_no_slice_shorter_than_50_ms", "slice=50");
  expect_seen("has_a_slice_shorter_than_50_ms", "slice=1");
}

CHILD_MAIN(says_seven) {
  return sley::run([] { return 7; });
}

TEST(preemption, a_setting_without_sense_is_one_line_on_stderr_and_the_default) {
  for (const char* value : {"slice=0", "slice=101", "slice=-1", "slice=abc", "slice=5x",
                            "slice=", "slice", "slice=99999999999999999999", "asyncpreemptoff=2",
                            "asyncpreemptoff=yes", "slicer=5", "pageout=4", "pageout=86401"}) {
    const auto child = run_child("says_seven", value);
    EXPECT_EQ(child.status, 7) << value << ": " << child;
    EXPECT_NE(child.err.find("SLEYDEBUG"), std::string::npos) << value << ": " << child;
    EXPECT_NE(child.err.find(value), std::string::npos) << value << ": " << child;
    EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << value << ": " << child;
  }
  for (const char* value :
       {"", "slice=1", "slice=100", "asyncpreemptoff=0", "asyncpreemptoff=1",
        "slice=20,asyncpreemptoff=1", "asyncpreemptoff=0,slice=20", "pageout=5"}) {
    const auto child = run_child("says_seven", value);
    EXPECT_EQ(child.status, 7) << value << ": " << child;
    EXPECT_EQ(child.err, "") << value << ": " << child;
  }
  // The rest of the line counts.
  const auto child = run_child("computes_for_a_while", "slice=0,asyncpreemptoff=1");
  EXPECT_TRUE(is_without_signals(child.out)) << child;
  EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << child;
}
