// A process that can't read /proc, as in a chroot or a sandbox: blocking that nothing announces is
// found, deadlocks are reported, and threads that the library has never met keep a program from
// being taken for one.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/refuse.hpp"
#include "support/use_everything.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

using sley::chan;
using sley_test::run_child;
using sley_test::skipped;
using namespace std::chrono_literals;

namespace {

// Nothing is in /proc for this process from now on.
bool hide_proc() {
  const bool has_own_mounts =
      ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
  return has_own_mounts && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/proc", "tmpfs", 0, nullptr) == 0 &&
         ::access("/proc/self/stat", R_OK) != 0;
}

void expect_works(const char* name, int status = 7) {
  const auto child = run_child(name);
  if (child.status == skipped) GTEST_SKIP() << "/proc can't be hidden here";
  EXPECT_EQ(child.status, status) << name << ": " << child;
}

}  // namespace

namespace {

// How late another goroutine of the only processor runs beside one that sleeps in the kernel.
int run_beside_a_sleeper() {
  return sley::run([] {
    sley::runtime::set_max_procs(1);
    std::chrono::steady_clock::duration longest{0};
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      sley::wait_group other;
      std::chrono::steady_clock::duration late{0};
      other.go([&] { late = std::chrono::steady_clock::now() - start; });
      ::usleep(500'000);
      other.wait();
      longest = std::max(longest, late);
    }
    EXPECT_LT(longest, 250ms);
    return sley_test::verdict();
  });
}

}  // namespace

CHILD_MAIN(blocks_unannounced) { return hide_proc() ? run_beside_a_sleeper() : skipped; }
// The CPU clocks of other threads have negative numbers.
CHILD_MAIN(blocks_unannounced_without_clocks) {
  if (!hide_proc() || !sley_test::refuse({{.number = SYS_clock_gettime,
                                           .error = EPERM,
                                           .argument = 0,
                                           .bits = 1U << 31,
                                           .value = 1U << 31}})) {
    return skipped;
  }
  return run_beside_a_sleeper();
}

TEST(no_proc, blocking_that_nothing_announces_is_found) {
  expect_works("blocks_unannounced");
  expect_works("blocks_unannounced_without_clocks");
}

CHILD_MAIN(uses_everything_without_proc) {
  if (!hide_proc()) return skipped;
  return sley::run([] {
    for (int i = 0; i < 3; ++i) sley_test::use_everything();
    std::atomic<bool> is_over{false};
    sley::wait_group hog;
    hog.go([&] {
      while (!is_over) {
      }
    });
    sley::this_goroutine::sleep_for(30ms);
    is_over = true;
    hog.wait();
    return sley_test::verdict();
  });
}

TEST(no_proc, everything_works) { expect_works("uses_everything_without_proc"); }

CHILD_MAIN(deadlocks_without_proc) {
  if (!hide_proc()) return skipped;
  return sley::run([] {
    chan<int>().receive();
    return 3;
  });
}
CHILD_MAIN(deadlocks_on_foreign_threads_without_proc) {
  if (!hide_proc()) return skipped;
  std::thread([] { chan<int>().receive(); }).detach();
  chan<int>().receive();
  return 3;
}

TEST(no_proc, deadlocks_are_reported) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it has a thread of its own";
  for (const char* name : {"deadlocks_without_proc", "deadlocks_on_foreign_threads_without_proc"}) {
    const auto child = run_child(name);
    if (child.status == skipped) GTEST_SKIP() << "/proc can't be hidden here";
    EXPECT_EQ(child.status, 2) << child;
    EXPECT_EQ(sley_test::occurrences(child.err, "deadlock!"), 1) << child;
  }
}

CHILD_MAIN(is_woken_by_an_unknown_thread) {
  if (!hide_proc()) return skipped;
  const chan<int> c(1);
  std::thread unknown([c] {
    ::usleep(1'500'000);
    c.send(7);
  });
  const int status = sley::run([c] { return *c.receive(); });
  unknown.join();
  return status;
}

TEST(no_proc, a_thread_that_the_library_has_not_met_may_still_bring_something) {
  expect_works("is_woken_by_an_unknown_thread");
}
