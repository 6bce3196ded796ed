// A report of the address sanitizer is followed by the goroutine that it is about, and where that
// was started.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <string>
#include <utility>

using sley_test::contains_match;
using sley_test::run_child;

namespace {

int use_after_delete() {
  int* p = new int(1);
  delete p;
  asm volatile("" : "+r"(p));  // so that no compiler finds the error
  return *p;
}

template <class F>
[[gnu::noinline]] void start_reader(F f) {
  sley::go({.name = "reader"}, std::move(f));
}

}  // namespace

CHILD_MAIN(reads_freed_memory) {
  return sley::run([] {
    sley::chan<int> result;
    start_reader([result] { result.send(use_after_delete()); });
    return *result.receive();
  });
}

CHILD_MAIN(reads_freed_memory_in_a_thread) { return use_after_delete(); }

TEST(memory_report, is_followed_by_the_goroutine) {
  if (!sley_test::under_asan) GTEST_SKIP() << "there is no address sanitizer";
  const auto child = run_child("reads_freed_memory");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_TRUE(contains_match(child.err, "AddressSanitizer: heap-use-after-free")) << child;
  const std::size_t introduction = child.err.find("sley: the report above is of\ngoroutine ");
  ASSERT_NE(introduction, std::string::npos) << child;
  const std::string goroutine = child.err.substr(introduction);
  EXPECT_TRUE(contains_match(goroutine, "goroutine [0-9]+ \"reader\" \\[running\\]:")) << child;
  EXPECT_TRUE(contains_match(goroutine, "created by .*start_reader.* in goroutine 1")) << child;
}

TEST(memory_report, names_no_goroutine_outside_of_one) {
  if (!sley_test::under_asan) GTEST_SKIP() << "there is no address sanitizer";
  const auto child = run_child("reads_freed_memory_in_a_thread");
  EXPECT_TRUE(contains_match(child.err, "AddressSanitizer: heap-use-after-free")) << child;
  EXPECT_EQ(child.err.find("sley: "), std::string::npos) << child;
}
