// Kernels and sandboxes that refuse calls that sley would rather use: everything works without
// them, or says what it lacks. A seccomp filter plays the kernel; it is in place before the child's
// first instruction, because the library decides at its start.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/memory.hpp"
#include "support/refuse.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <thread>

using sley::chan;
using sley_test::occurrences;
using sley_test::refusal;
using sley_test::run_child;
using sley_test::skipped;
using namespace std::chrono_literals;

namespace {

constexpr refusal no_membarrier = {SYS_membarrier, EPERM};
// The clocks of other threads and processes have negative numbers.
constexpr refusal no_cpu_clocks = {.number = SYS_clock_gettime,
                                   .error = EPERM,
                                   .argument = 0,
                                   .bits = 1U << 31,
                                   .value = 1U << 31};
constexpr refusal no_cheap_guards = {
    .number = SYS_madvise, .error = EINVAL, .argument = 2, .bits = ~0U, .value = 102};

// Becomes another child with these refusals.
int become_without(std::initializer_list<refusal> refusals, const char* name) {
  if (!sley_test::refuse(refusals)) return skipped;
  sley_test::become_child(name);
  return 99;
}

}  // namespace

// --- no barrier, no clocks -----------------------------------------------------------------------

namespace {

// Channels, locks under contention, sleeps and foreign threads, with checked sums.
int exercise() {
  std::atomic<long> sum{0};
  const int status = sley::run([&sum] {
    sley::chan<long> values(4);
    sley::wait_group senders;
    sley::wait_group receivers;
    for (int i = 0; i < 8; ++i) {
      senders.go([values] {
        for (long v = 0; v < 20'000; ++v) values.send(v);
      });
      receivers.go([values, &sum] {
        for (const long v : values) sum += v;
      });
    }
    senders.add(1);  // so that join() does not wait: it blocks the thread, and with it others
    std::thread foreign([values, &senders] {
      for (long v = 0; v < 20'000; ++v) values.send(v);
      senders.done();
    });
    sley::this_goroutine::sleep_for(1ms);
    senders.wait();
    foreign.join();
    values.close();
    receivers.wait();
  });
  return status == 0 && sum == 9 * (19'999L * 20'000L / 2) ? 7 : 3;
}

// For each processor a goroutine that computes, one that blocks with a word, and one without.
class obstacles {
 public:
  obstacles() {
    for (int i = 0; i < sley::runtime::max_procs(); ++i) {
      group_.go([this] {
        while (!stop_) {
        }
      });
      group_.go([this] {
        while (!stop_) {
          sley::blocking([] { usleep(20'000); });
          ++announced_;
        }
      });
      group_.go([this] {
        while (!stop_) {
          usleep(20'000);
          ++unannounced_;
        }
      });
    }
  }
  ~obstacles() {
    stop_ = true;
    group_.wait();
  }
  obstacles(const obstacles&) = delete;
  obstacles& operator=(const obstacles&) = delete;
  bool have_advanced() const { return announced_ >= 3 && unannounced_ >= 3; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> announced_{0};
  std::atomic<int> unannounced_{0};
  sley::wait_group group_;
};

}  // namespace

CHILD_MAIN(works) { return exercise(); }
// Others get on beside them, and so do they.
CHILD_MAIN(works_beside_hogs_and_sleepers) {
  return sley::run([] {
    const obstacles others;
    const chan<int> there;
    const chan<int> back;
    sley::go([=] {
      for (const int value : there) back.send(value + 1);
    });
    bool all_right = true;
    for (int i = 0; i < 10 || !others.have_advanced(); ++i) {
      sley::this_goroutine::sleep_for(1ms);
      there.send(i);
      all_right = back.receive() == i + 1 && all_right;
    }
    there.close();
    return all_right ? 7 : 3;
  });
}

CHILD_MAIN(is_refused_nothing) { return become_without({}, "works_beside_hogs_and_sleepers"); }
CHILD_MAIN(works_without_membarrier) { return become_without({no_membarrier}, "works"); }
CHILD_MAIN(is_refused_membarrier) {
  return become_without({no_membarrier}, "works_beside_hogs_and_sleepers");
}
CHILD_MAIN(is_refused_cpu_clocks) {
  return become_without({no_cpu_clocks}, "works_beside_hogs_and_sleepers");
}
CHILD_MAIN(is_refused_both) {
  return become_without({no_membarrier, no_cpu_clocks}, "works_beside_hogs_and_sleepers");
}

TEST(fallback, without_a_refusal_hogs_and_sleepers_stall_no_goroutine_and_nothing_is_printed) {
  const auto child = run_child("is_refused_nothing");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

TEST(fallback, without_membarrier_both_sides_pay_for_the_barrier_and_one_line_says_so) {
  const auto child = run_child("works_without_membarrier");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child, "membarrier");
}

TEST(fallback, without_membarrier_hogs_and_sleepers_stall_no_goroutine) {
  const auto child = run_child("is_refused_membarrier");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child, "membarrier");
}

TEST(fallback, without_the_cpu_clocks_of_threads_hogs_and_sleepers_stall_no_goroutine) {
  const auto child = run_child("is_refused_cpu_clocks");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  // The system has other ways to say whether a thread sleeps: perhaps there is nothing to tell.
  EXPECT_LE(occurrences(child.err, "\n"), 1) << child;
}

TEST(fallback, without_both_hogs_and_sleepers_stall_no_goroutine) {
  const auto child = run_child("is_refused_both");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(occurrences(child.err, "membarrier"), 1) << child;
  EXPECT_LE(occurrences(child.err, "\n"), 2) << child;
}

// --- no cheap guards -----------------------------------------------------------------------------

// More goroutines than guards can be had for.
CHILD_MAIN(needs_many_stacks) {
  const int many = sley_test::as_many_as_fit(100'000, 8 << 10);
  return sley::run([many] {
    sley::wait_group group;
    const sley::chan<void> gate;
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    for (int i = 0; i < many; ++i) {
      group.go([&, gate] {
        ++begun;
        gate.receive();
        ++ended;
      });
    }
    const bool have_all_begun = sley_test::eventually([&] { return begun == many; });
    gate.close();
    group.wait();
    return have_all_begun && ended == many ? 7 : 3;
  });
}
CHILD_MAIN(is_refused_guards) { return become_without({no_cheap_guards}, "needs_many_stacks"); }

TEST(fallback, without_cheap_guards_all_goroutines_run_and_one_line_says_that_some_have_none) {
  if (sley_test::under_sanitizer) {
    GTEST_SKIP() << "sanitizers use up mappings of their own";
  }
  int mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
  if (mappings > 80'000) GTEST_SKIP() << "room for " << mappings << " mappings";
  const auto child = run_child("is_refused_guards");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child, "no guard for another goroutine's stack.*vm.max_map_count");
}

// gdb's gcore passes over mappings that can't be read. At other guards it stops, and leaves out
// what is behind them.
CHILD_MAIN(counts_mappings_that_can_not_be_read) {
  return sley::run([] {
    const sley::chan<void> gate;
    sley::wait_group group;
    std::atomic<int> begun{0};
    for (int i = 0; i < 100; ++i) {
      group.go([&begun, gate] {
        ++begun;
        gate.receive();
      });
    }
    const bool have_all_begun = sley_test::eventually([&] { return begun == 100; });
    int count = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(" ---p ") != std::string::npos) ++count;
    }
    std::printf("%d\n", count);
    gate.close();
    group.wait();
    return have_all_begun ? 7 : 3;
  });
}

TEST(fallback, guards_are_mappings_of_their_own_if_the_user_says_so) {
  const auto child =
      run_child("counts_mappings_that_can_not_be_read", {{"SLEYDEBUG", "guardadviceoff=1"}});
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_GE(std::stoi("0" + child.out), 100) << child;
}

// One after the other, each with a mapping and a guard of its own: more than there may be guards at
// a time, which is 26,212 where vm.max_map_count is 65,530.
CHILD_MAIN(uses_many_sized_stacks) {
  return sley::run([] {
    constexpr int rounds = 270;
    constexpr int at_once = 100;
    for (int round = 0; round < rounds; ++round) {
      sley::wait_group group;
      group.add(at_once);
      for (int i = 0; i < at_once; ++i) {
        sley::go({.stack_size = 32 * 1024}, [&group] { group.done(); });
      }
      group.wait();
    }
    return 7;
  });
}
CHILD_MAIN(is_refused_guards_of_sized_stacks) {
  return become_without({no_cheap_guards}, "uses_many_sized_stacks");
}

TEST(fallback, a_dear_guard_is_free_again_with_its_stack) {
  if (sley_test::under_sanitizer) {
    GTEST_SKIP() << "sanitizers use up mappings of their own";
  }
  const auto child =
      run_child("is_refused_guards_of_sized_stacks", {}, 3 * sley_test::patience / 2);
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// --- advice that is taken and not followed -------------------------------------------------------

namespace {

// Not a tail call, and of no known depth.
[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

constexpr refusal no_advice_but_success = {SYS_madvise, 0};

}  // namespace

CHILD_MAIN(overflows_its_stack) {
  return sley::run([] { return recurse(0) == 1 ? 3 : 4; });
}
CHILD_MAIN(overflows_a_sized_stack) {
  return sley::run([] {
    sley::go({.stack_size = 64 * 1024}, [] { std::_Exit(recurse(0) == 1 ? 3 : 4); });
    sley::this_goroutine::sleep_for(20s);
    return 3;
  });
}
CHILD_MAIN(is_told_that_advice_works) {
  return become_without({no_advice_but_success}, "overflows_its_stack");
}
CHILD_MAIN(is_told_that_advice_works_for_a_sized_stack) {
  return become_without({no_advice_but_success}, "overflows_a_sized_stack");
}
CHILD_MAIN(works_while_advice_does_nothing) {
  return become_without({no_advice_but_success}, "works");
}

TEST(fallback, a_guard_is_there_also_where_any_advice_is_answered_with_success) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "the sanitizers insist on advice";
  for (const char* name :
       {"is_told_that_advice_works", "is_told_that_advice_works_for_a_sized_stack"}) {
    const auto child = run_child(name);
    if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
    EXPECT_EQ(child.status, 2) << child;
    EXPECT_EQ(occurrences(child.err, "stack overflow"), 1) << child;
  }
  const auto child = run_child("works_while_advice_does_nothing");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}
