// Stacks need guards, and memory may be locked: a process that gets no more guards says so and does
// without, and one that never gets any says why it ends.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/refuse.hpp"
#include "support/use_everything.hpp"

#include <atomic>
#include <cerrno>
#include <string>

#include <sys/mman.h>
#include <sys/syscall.h>

using sley::wait_group;
using sley_test::run_child;
using sley_test::skipped;

namespace {

constexpr sley_test::refusal no_cheap_guards = {
    .number = SYS_madvise, .error = EINVAL, .argument = 2, .bits = ~0U, .value = 102};
constexpr sley_test::refusal no_many_cheap_guards = {
    .number = SYS_process_madvise, .error = EINVAL, .argument = 3, .bits = ~0U, .value = 102};
constexpr sley_test::refusal no_dear_guards = {
    .number = SYS_mprotect, .error = ENOMEM, .argument = 2, .bits = ~0U, .value = PROT_NONE};

}  // namespace

CHILD_MAIN(has_no_more_guards) {
  return sley::run([] {
    sley_test::use_everything();
    if (!sley_test::refuse({no_cheap_guards, no_many_cheap_guards, no_dear_guards})) return skipped;
    constexpr int goroutines = 5000;
    std::atomic<int> begun{0};
    const sley::chan<void> gate;
    wait_group group;
    for (int i = 0; i < goroutines; ++i) {
      group.go([&begun, gate] {
        ++begun;
        gate.receive();
      });
    }
    const bool have_all_begun = sley_test::eventually([&] { return begun == goroutines; });
    gate.close();
    group.wait();
    sley_test::use_everything();
    return have_all_begun ? 7 : 3;
  });
}

TEST(guards, without_more_guards_goroutines_run_on_stacks_that_have_none) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers map memory of their own";
  const auto child = run_child("has_no_more_guards");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child, "no guard for another goroutine's stack");
}

CHILD_MAIN(never_has_a_guard) {
  if (!sley_test::refuse({no_cheap_guards, no_many_cheap_guards, no_dear_guards})) return skipped;
  return sley::run([] { return 7; });
}

TEST(guards, without_a_single_stack_the_start_is_a_fatal_error_that_says_so) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers map memory of their own";
  const auto child = run_child("never_has_a_guard");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.err.find("no memory for another goroutine's stack: 0 stacks"), std::string::npos)
      << child;
}

// Each guard by a system call of its own then.
CHILD_MAIN(has_no_many_guards) {
  return sley::run([] {
    sley_test::use_everything();
    if (!sley_test::refuse({no_many_cheap_guards})) return skipped;
    for (int i = 0; i < 3; ++i) sley_test::use_everything();
    return sley_test::verdict();
  });
}

TEST(guards, without_guards_for_many_stacks_at_once_each_stack_gets_its_own) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers map memory of their own";
  const auto child = run_child("has_no_many_guards");
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// --- memory that is locked -----------------------------------------------------------------------

// Cheap guards are refused in it, and what is given back stays.
CHILD_MAIN(locks_its_memory) {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) return skipped;
  return sley::run([] {
    for (int i = 0; i < 3; ++i) sley_test::use_everything();
    return sley_test::verdict();
  });
}

TEST(guards, a_process_that_locks_all_its_memory_works) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers map memory of their own";
  const auto child = run_child("locks_its_memory");
  if (child.status == skipped) GTEST_SKIP() << "memory may not be locked here";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}
