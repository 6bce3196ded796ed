// The CPU quota of a cgroup changes while the process works: the number of processors follows, and
// nothing that runs is lost. The kernel is made to tell of 64 CPUs, so that the quota is the limit.
#include "support/cgroup.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/scripted_calls.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

using sley::runtime::max_procs;
using sley_test::eventually;
using sley_test::run_child;
using sley_test::skipped;
using sley_test::system_call;
using namespace std::chrono_literals;

namespace {

// Of a cgroup of either version, in CPUs.
bool set_quota(const std::string& path, int cpus) {
  const std::string quota = std::to_string(cpus * 100'000);
  return (sley_test::write_to_cgroup(path, "cpu.cfs_period_us", "100000") &&
          sley_test::write_to_cgroup(path, "cpu.cfs_quota_us", quota)) ||
         sley_test::write_to_cgroup(path, "cpu.max", quota + " 100000");
}

long tell_of_many_cpus(const system_call& call) {
  const long bytes = call.pass_on();
  if (bytes < 8) return bytes;
  std::memset(reinterpret_cast<void*>(call.arguments[2]), 0xff, 8);
  return bytes;
}

// Goroutines that hand a number on, all the time.
class relay {
 public:
  relay() {
    for (int i = 0; i < 20; ++i) {
      group_.go([this] {
        for (const int value : there_) back_.send(value + 1);
      });
    }
  }
  ~relay() {
    there_.close();
    group_.wait();
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  bool works() const {
    there_.send(1);
    return back_.receive() == 2;
  }

 private:
  const sley::chan<int> there_;
  const sley::chan<int> back_;
  sley::wait_group group_;
};

}  // namespace

CHILD_MAIN(follows_its_quota) {
  const char* cgroup = std::getenv("SLEY_TEST_CGROUP");
  if (cgroup == nullptr) return 98;
  if (!sley_test::write_to_cgroup(cgroup, "cgroup.procs", std::to_string(::getpid()))) {
    return skipped;
  }
  const sley_test::scripted_calls script({{SYS_sched_getaffinity}}, &tell_of_many_cpus);
  if (!script.works()) return skipped;
  return sley::run([cgroup] {
    const relay others;
    for (const int cpus : {4, 3, 6}) {
      EXPECT_TRUE(set_quota(cgroup, cpus));
      EXPECT_TRUE(eventually([&] { return others.works() && max_procs() == cpus; }))
          << max_procs() << " processors instead of " << cpus;
    }
    return sley_test::verdict();
  });
}
CHILD_MAIN(follows_its_quota_unset) {
  ::unsetenv("SLEY_MAXPROCS");
  sley_test::become_child("follows_its_quota");
  return 99;
}

TEST(quota, that_changes_is_followed_while_the_process_works) {
  const sley_test::cgroup cgroup("cpu", [](const std::string& path) { return set_quota(path, 5); });
  if (cgroup.path().empty()) GTEST_SKIP() << "cannot make a cgroup with a CPU limit";
  const auto child = run_child("follows_its_quota_unset", {{"SLEY_TEST_CGROUP", cgroup.path()}});
  if (child.status == skipped) GTEST_SKIP() << "cannot move a process to its cgroup, or no seccomp";
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// --- memory --------------------------------------------------------------------------------------

namespace {

bool limit_memory(const std::string& path, long bytes) {
  const std::string text = std::to_string(bytes);
  return sley_test::write_to_cgroup(path, "memory.limit_in_bytes", text) ||
         sley_test::write_to_cgroup(path, "memory.max", text);
}

constexpr long mebibyte = 1L << 20;

// Uses 48 KiB of its stack.
[[gnu::noinline]] int use_stack() {
  volatile char room[48 << 10];
  for (std::size_t i = 0; i < sizeof room; i += 4096) room[i] = static_cast<char>(i);
  return room[4096];
}

// Goroutines that use 24 MiB of stacks together, at the same time.
int come_and_go() {
  const sley::chan<void> gate;
  sley::wait_group group;
  std::atomic<int> ended{0};
  for (int i = 0; i < 500; ++i) {
    group.go([&, gate] {
      use_stack();
      gate.receive();
      ++ended;
    });
  }
  gate.close();
  group.wait();
  return ended;
}

}  // namespace

// Needs ten times as much memory as the limit in all, but never more than half of it at once:
// goroutines that have ended leave their memory to later ones.
CHILD_MAIN(lives_under_pressure) {
  const char* cgroup = std::getenv("SLEY_TEST_CGROUP");
  if (cgroup == nullptr) return 98;
  if (!sley_test::write_to_cgroup(cgroup, "cgroup.procs", std::to_string(::getpid()))) {
    return skipped;
  }
  return sley::run([cgroup] {
    for (int i = 0; i < 20; ++i) {
      if (i == 10 && !limit_memory(cgroup, 56 * mebibyte)) return skipped;
      if (come_and_go() != 500) return 3;
    }
    return 7;
  });
}

TEST(memory_pressure, is_survived_by_a_program_that_needs_less_at_once) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers need memory of their own";
  const sley_test::cgroup cgroup(
      "memory", [](const std::string& path) { return limit_memory(path, 64 * mebibyte); });
  if (cgroup.path().empty()) GTEST_SKIP() << "cannot make a cgroup with a limit of memory";
  const auto child = run_child("lives_under_pressure", {{"SLEY_TEST_CGROUP", cgroup.path()}});
  if (child.status == skipped) GTEST_SKIP() << "cannot move a process to its cgroup";
  EXPECT_EQ(child.status, 7) << child;
}
