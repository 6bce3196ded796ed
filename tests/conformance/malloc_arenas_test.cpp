// malloc of glibc has two arenas for each CPU that the process may use and at least four, however
// many threads its goroutines have, unless the environment or the program has another number. The
// arenas are counted in processes of their own while many threads allocate at the same time.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <string>

#include <malloc.h>

using sley_test::child_result;
using sley_test::environment;
using sley_test::run_child;

namespace {

constexpr int threads = 40;

int arenas() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = ::open_memstream(&text, &size);
  ::malloc_info(0, out);
  std::fclose(out);
  const int count = sley_test::occurrences(text, "<heap nr=");
  std::free(text);
  return count;
}

// All of them wait for each other with memory in hand, so each has a thread of its own.
void allocate_in_many_threads() {
  std::latch all(threads);
  sley::wait_group group;
  for (int i = 0; i < threads; ++i) {
    group.go([&] {
      sley::blocking([&] {
        void* memory = std::malloc(2000);
        all.arrive_and_wait();
        std::free(memory);
      });
    });
  }
  group.wait();
}

int automatic_procs() {
  sley::runtime::set_max_procs(0);
  return sley::runtime::max_procs();
}

int print_arenas() {
  allocate_in_many_threads();
  std::printf("%d arenas", arenas());
  return 7;
}

void expect_arenas(const std::string& name, const environment& additions, int count) {
  const child_result child = run_child(name, additions);
  EXPECT_EQ(child.out, std::to_string(count) + " arenas")
      << (additions.empty() ? "" : additions[0].first + '=' + additions[0].second) << '\n'
      << child;
}

}  // namespace

CHILD_MAIN(prints_its_arenas) {
  return sley::run([] { return print_arenas(); });
}

CHILD_MAIN(chooses_its_arenas) {
  ::setenv("MALLOC_ARENA_MAX", std::getenv("SLEY_TEST_ARENAS"), 1);
  ::mallopt(M_ARENA_MAX, std::atoi(std::getenv("SLEY_TEST_ARENAS")));
  return sley::run([] { return print_arenas(); });
}

class malloc_arenas : public testing::Test {
 protected:
  void SetUp() override {
    if (sley_test::under_sanitizer) GTEST_SKIP() << "has an allocator of its own";
    if (default_ + 3 > threads) GTEST_SKIP() << "needs more threads than arenas";
  }
  const int default_ = std::max(4, 2 * automatic_procs());
};

TEST_F(malloc_arenas, are_two_for_each_cpu_and_at_least_four) {
  expect_arenas("prints_its_arenas", {}, default_);
  for (const char* procs : {"1", "3", "64"}) {
    expect_arenas("prints_its_arenas", {{"SLEY_MAXPROCS", procs}}, default_);
  }
  expect_arenas("prints_its_arenas", {{"GLIBC_TUNABLES", "glibc.malloc.tcache_count=3"}}, default_);
}

TEST_F(malloc_arenas, are_as_many_as_the_environment_says) {
  for (const int count : {1, default_ + 3}) {
    const std::string n = std::to_string(count);
    expect_arenas("prints_its_arenas", {{"MALLOC_ARENA_MAX", n}}, count);
    expect_arenas("prints_its_arenas", {{"GLIBC_TUNABLES", "glibc.malloc.arena_max=" + n}}, count);
    expect_arenas("prints_its_arenas",
                  {{"GLIBC_TUNABLES", "glibc.malloc.tcache_count=3:glibc.malloc.arena_max=" + n}},
                  count);
  }
}

TEST_F(malloc_arenas, are_as_many_as_the_program_says) {
  for (const int count : {1, default_ + 3}) {
    expect_arenas("chooses_its_arenas", {{"SLEY_TEST_ARENAS", std::to_string(count)}}, count);
  }
}
