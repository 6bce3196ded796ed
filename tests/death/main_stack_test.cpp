// The main goroutine has a stack like that of main(): RLIMIT_STACK, 8 MiB by default.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using sley::run;
using sley_test::run_child;
using sley_test::under_sanitizer;

namespace {

[[gnu::noinline]] int fill(char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; i += 1024) bytes[i] = 1;
  return bytes[0];
}

[[gnu::noinline]] int with_an_array_of_a_mebibyte() {
  char buffer[1 << 20];
  return fill(buffer, sizeof buffer);
}

[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

[[gnu::noinline]] int take_kib(int kib) {
  volatile char block[1024];
  block[0] = 1;
  return kib == 0 ? 0 : take_kib(kib - 1) + block[0];
}

// Bytes that are far below everything that the stack has.
[[gnu::noinline]] int jump_far_below() {
  volatile char huge[24 << 20];
  huge[100] = 1;
  return huge[100];
}

bool set_stack_limit(rlim_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = bytes;
  return setrlimit(RLIMIT_STACK, &limit) == 0;
}

long reported_kib(const sley_test::child_result& child) {
  const auto shown = sley_test::groups_of(child.err, "reservation is ([0-9]+) KiB");
  EXPECT_FALSE(shown.empty()) << child;
  return shown.empty() ? 0 : std::stol(shown[1]);
}

}  // namespace

CHILD_MAIN(has_an_array_of_a_mebibyte) {
  return run([] { return with_an_array_of_a_mebibyte() == 1 ? 7 : 3; });
}

TEST(main_stack, has_room_for_large_arrays) {
  for (int i = 0; i < 8; ++i) {
    const auto child = run_child("has_an_array_of_a_mebibyte");
    EXPECT_EQ(child.status, 7) << child;
  }
}

CHILD_MAIN(needs_six_mebibytes) {
  if (!set_stack_limit(8 << 20)) return sley_test::skipped;
  return run([] { return take_kib(6 << 10) > 0 ? 7 : 3; });
}

CHILD_MAIN(needs_twenty_mebibytes) {
  if (!set_stack_limit(32 << 20)) return sley_test::skipped;
  return run([] { return take_kib(20 << 10) > 0 ? 7 : 3; });
}

CHILD_MAIN(needs_twenty_mebibytes_without_limit) {
  if (!set_stack_limit(RLIM_INFINITY)) return sley_test::skipped;
  return run([] { return take_kib(20 << 10) > 0 ? 7 : 3; });
}

TEST(main_stack, is_as_large_as_the_limit_says) {
  if (under_sanitizer) GTEST_SKIP() << "frames are larger there";
  for (const char* name :
       {"needs_six_mebibytes", "needs_twenty_mebibytes", "needs_twenty_mebibytes_without_limit"}) {
    const auto child = run_child(name);
    EXPECT_TRUE(child.status == 7 || child.status == sley_test::skipped) << name << ": " << child;
  }
}

CHILD_MAIN(recurses_in_main) {
  if (!set_stack_limit(8 << 20)) return sley_test::skipped;
  return run([] { return recurse(0) == 1 ? 3 : 4; });
}

TEST(main_stack, that_overflows_is_reported) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("recurses_in_main");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("goroutine 1: stack overflow"), std::string::npos) << child;
  EXPECT_EQ(reported_kib(child), 8192) << child;
}

CHILD_MAIN(jumps_far_below) {
  if (!set_stack_limit(8 << 20)) return sley_test::skipped;
  return run([] { return jump_far_below() == 1 ? 3 : 4; });
}

// Where a frame is larger than the guard, and nothing is mapped where it ends.
TEST(main_stack, that_is_overflown_by_one_large_frame_is_reported) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("jumps_far_below");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_NE(child.err.find("stack overflow"), std::string::npos) << child;
}

TEST(main_stack, is_no_smaller_than_the_default_reservation) {
  const auto child = run_child("needs_six_mebibytes", {{"SLEY_STACK_SIZE", "16M"}});
  EXPECT_EQ(child.status, 7) << child;
}

namespace {

// How many pages of the range are in memory; -1: it is not mapped.
int pages_in_memory(const char* place, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) / page * page);
  std::vector<unsigned char> pages(bytes / page);
  if (mincore(start, bytes, pages.data()) != 0) return -1;
  return static_cast<int>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; }));
}

}  // namespace

CHILD_MAIN(touches_little) {
  if (!set_stack_limit(8 << 20)) return sley_test::skipped;
  return run([] {
    char here = 0;
    return pages_in_memory(&here - (6 << 20), 5 << 20) == 0 ? 7 : 3;
  });
}

TEST(main_stack, costs_memory_where_it_is_touched) {
  const auto child = run_child("touches_little");
  EXPECT_EQ(child.status, 7) << child;
}
