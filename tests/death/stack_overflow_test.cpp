// A goroutine that needs more stack than it has: a report that says so, and the end. E13 of the
// list of Go's tests (TestStackOverflow). Other faults are the program's own business, wherever.
#include "runtime/inspect/deep_stack.hpp"
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <unistd.h>

using sley::chan;
using sley::run;
using sley_test::on_this_thread;
using sley_test::run_child;
using sley_test::under_sanitizer;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

// Not a tail call, and of no known depth.
[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

[[gnu::noinline]] int begin_recursion() {
  const int result = recurse(0);
  sley_test::not_a_tail_call();
  return result;
}

// One frame far larger than the guard.
[[gnu::noinline]] int jump_over_the_guard() {
  volatile char huge[1 << 20];
  for (std::size_t i = sizeof huge; i > 0; i -= 4096) huge[i - 1] = 1;
  return huge[0];
}

template <class F>
int wait_for_the_end(const sley::go_options& options, F f) {
  return sley::run([&] {
    sley::go(options, f);
    sley::this_goroutine::sleep_for(std::chrono::seconds(20));
    return 0;
  });
}

void expect_report(const sley_test::child_result& child, long asked_kib) {
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_TRUE(sley_test::contains_match(child.err, "goroutine [0-9]+.*stack overflow")) << child;
  EXPECT_NE(child.err.find("go_options::stack_size"), std::string::npos)
      << "says what to do: " << child;
  // The requested size, and a few pages for placing and guarding it.
  const auto shown = sley_test::groups_of(child.err, "reservation is ([0-9]+) KiB");
  ASSERT_FALSE(shown.empty()) << child;
  EXPECT_GE(std::stol(shown[1]), asked_kib) << child;
  EXPECT_LE(std::stol(shown[1]), asked_kib + 32) << child;
}

long default_kib() {
  const char* set = std::getenv("SLEY_STACK_SIZE");
  return set == nullptr ? 256 : std::stol(set) / 1024;
}

}  // namespace

CHILD_MAIN(recurses) {
  return wait_for_the_end({.name = "deep"}, [] { std::_Exit(begin_recursion() == 1 ? 3 : 4); });
}

TEST(stack_overflow, is_reported_with_the_goroutine_and_its_reservation) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("recurses");
  EXPECT_NE(child.err.find("deep"), std::string::npos) << child;
  expect_report(child, default_kib());
}

// E13: Go's words and ends. Which goroutine, how much it had and what to set, where it was; then
// the stacks of all goroutines, its own first.
TEST(stack_overflow, says_all_there_is_to_know_in_one_line_and_shows_all_goroutines) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("recurses");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(child.out, "") << child;
  const auto said = sley_test::groups_of(
      child.err,
      "^fatal error: goroutine ([0-9]+) \"deep\": stack overflow: reservation is [0-9]+ KiB; see "
      "go_options::stack_size and SLEY_STACK_SIZE \\(address 0x[0-9a-f]+\\)$");
  ASSERT_FALSE(said.empty()) << child;
  EXPECT_EQ(child.err.find(said[0]), 0U) << "it comes first: " << child;
  EXPECT_EQ(sley_test::occurrences(child.err, "stack overflow"), 1) << child;
  const auto shown = sley_test::goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 2U) << child;
  EXPECT_EQ(shown[0].header, "goroutine " + said[1] + " \"deep\" [running]:");
  sley_test::expect_frame(shown[0], "recurse", "stack_overflow_test.cpp");
  EXPECT_TRUE(sley_test::contains_match(child.err, "^\\.\\.\\.[0-9]+ frames elided\\.\\.\\.$"))
      << child;
  sley_test::expect_frame(shown[0], "begin_recursion", "stack_overflow_test.cpp");
  EXPECT_EQ(shown[1].id, 1);  // it may sleep already, or not yet
}

namespace {

// The stack as it is `depth` calls further down.
[[gnu::noinline]] sley::rt::deep_stack collect_at(int depth) {
  sley::rt::deep_stack stack;
  if (depth > 0) {
    stack = collect_at(depth - 1);
  } else {
    stack.collect();
  }
  sley_test::not_a_tail_call();
  return stack;
}

std::size_t size_of(const sley::rt::deep_stack& s) {
  return s.innermost().size() + s.elided() + s.outermost().size();
}

}  // namespace

TEST(deep_stack, of_any_depth_has_both_of_its_ends) {
  constexpr std::size_t most = 50;
  const std::size_t shallow = size_of(collect_at(0));
  const std::uintptr_t end = collect_at(200).outermost().back();
  for (int depth = 0; depth <= 200; ++depth) {
    const auto stack = collect_at(depth);
    const std::size_t size = shallow + static_cast<std::size_t>(depth);
    EXPECT_EQ(size_of(stack), size);
    EXPECT_EQ(stack.innermost().size(), std::min(size, most));
    EXPECT_EQ(stack.outermost().size(), std::min(size - stack.innermost().size(), most));
    EXPECT_EQ(stack.outermost().empty() ? stack.innermost().back() : stack.outermost().back(), end);
    EXPECT_FALSE(stack.is_endless());
  }
}

CHILD_MAIN(recurses_on_a_large_stack) {
  return wait_for_the_end({.stack_size = 2 << 20}, [] { std::_Exit(recurse(0) == 1 ? 3 : 4); });
}

TEST(stack_overflow, of_a_stack_of_another_size_is_reported) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  expect_report(run_child("recurses_on_a_large_stack"), 2048);
}

CHILD_MAIN(recurses_after_parking) {
  return wait_for_the_end({}, [] {
    for (int i = 0; i < 100; ++i) {
      sley::chan<int> c;
      sley::go([c] { c.send(1); });
      (void)c.receive();
    }
    std::_Exit(recurse(0) == 1 ? 3 : 4);
  });
}

TEST(stack_overflow, on_any_thread_is_reported) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  expect_report(run_child("recurses_after_parking"), default_kib());
}

// A frame larger than the guard may miss it, but must not go on in a neighbour's stack. (Programs
// that have such frames are compiled with -fstack-clash-protection.)
CHILD_MAIN(has_a_huge_frame) {
  return wait_for_the_end({}, [] { std::_Exit(jump_over_the_guard() == 1 ? 3 : 4); });
}

TEST(stack_overflow, of_a_huge_frame_that_touches_each_page_ends_the_process) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("has_a_huge_frame");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.status, 3) << child;
}

// --- faults that are none of the runtime's business ----------------------------------------------

namespace {

[[gnu::noinline]] int read_null() {
  volatile int* volatile null = nullptr;
  return *null == 1 ? 3 : 4;
}

void handle_with_address(int, siginfo_t* info, void*) {
  ::_exit(info->si_addr == nullptr ? 45 : 46);
}

void install_handler() {
  struct sigaction action = {};
  action.sa_sigaction = &handle_with_address;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, nullptr);
}

// Faults where SLEY_TEST_PLACE says.
int fault() {
  const char* setting = std::getenv("SLEY_TEST_PLACE");
  const std::string place = setting == nullptr ? "" : setting;
  if (place == "thread") {
    (void)sley::runtime::num_goroutines();
    (void)chan<int>(1).try_send(1);
    return read_null();
  }
  if (place == "main on its thread") return run(on_this_thread, read_null);
  if (place == "locked goroutine") {
    return run([] {
      const sley::os_thread_lock lock;
      this_goroutine::sleep_for(1ms);
      return read_null();
    });
  }
  if (place == "blocking call") return run([] { return sley::blocking(read_null); });
  return 5;
}

constexpr const char* fault_places[] = {"thread", "main on its thread", "locked goroutine",
                                        "blocking call"};

}  // namespace

CHILD_MAIN(faults) { return fault(); }
CHILD_MAIN(faults_with_a_handler_from_before) {
  install_handler();
  return fault();
}
CHILD_MAIN(faults_with_a_handler_from_after) {
  (void)sley::runtime::max_procs();
  install_handler();
  return fault();
}

TEST(fault, anywhere_reaches_the_programs_handler_or_the_default) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers have a handler";
  for (const char* place : fault_places) {
    const sley_test::environment where = {{"SLEY_TEST_PLACE", place}};
    const auto child = run_child("faults", where);
    EXPECT_EQ(child.signal, SIGSEGV) << place << ": " << child;
    EXPECT_EQ(child.err.find("stack overflow"), std::string::npos) << place << ": " << child;
    EXPECT_EQ(run_child("faults_with_a_handler_from_before", where).status, 45) << place;
    EXPECT_EQ(run_child("faults_with_a_handler_from_after", where).status, 45) << place;
  }
}

CHILD_MAIN(reads_a_null_pointer) {
  return wait_for_the_end({}, [] { std::_Exit(read_null()); });
}

TEST(stack_overflow, is_not_reported_for_a_null_pointer) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("reads_a_null_pointer");
  EXPECT_EQ(child.signal, SIGSEGV) << child;
  EXPECT_EQ(child.err.find("stack overflow"), std::string::npos) << child;
}

CHILD_MAIN(handles_a_fault_itself) {
  struct sigaction action = {};
  action.sa_handler = [](int) { std::_Exit(45); };
  ::sigaction(SIGSEGV, &action, nullptr);
  return wait_for_the_end({}, [] { std::_Exit(read_null()); });
}

TEST(stack_overflow, handling_leaves_other_faults_to_the_programs_handler) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers have a handler";
  const auto child = run_child("handles_a_fault_itself");
  EXPECT_EQ(child.status, 45) << child;
}
