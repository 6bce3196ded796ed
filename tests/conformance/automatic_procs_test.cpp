// The automatic number of processors: as many as CPUs that the process may use, by its affinity and
// the limit of its cgroup; it follows while the process works, unless the program has set a
// number. The children come without the setting with which this program is run.
#include "support/affinity.hpp"
#include "support/cgroup.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <sched.h>
#include <unistd.h>

using sley::run;
using sley::runtime::max_procs;
using sley::runtime::set_max_procs;
using sley_test::affinity;
using sley_test::eventually;
using sley_test::first_of;
using sley_test::run_child;
using sley_test::set_affinity;
using sley_test::skipped;
using namespace std::chrono_literals;

namespace {

int become_without_setting(const char* name) {
  unsetenv("SLEY_MAXPROCS");
  sley_test::become_child(name);
  return 99;
}

// Busy all the time, because the runtime looks at the number while the process works. False if the
// number is another for a moment.
bool stays(int number, std::chrono::nanoseconds time) {
  return !eventually([number] { return max_procs() != number; }, time);
}

}  // namespace

CHILD_MAIN(prints_the_number) {
  std::printf("%d %d", max_procs(), sley::runtime::num_cpu());
  return 7;
}
CHILD_MAIN(prints_the_automatic_number) { return become_without_setting("prints_the_number"); }
CHILD_MAIN(prints_the_automatic_number_on_one_cpu) {
  const cpu_set_t one = first_of(affinity());
  sched_setaffinity(0, sizeof(one), &one);
  return become_without_setting("prints_the_number");
}

// L4, ...SchedAffinity
TEST(automatic_procs, on_one_cpu_there_is_one_processor) {
  const auto child = run_child("prints_the_automatic_number_on_one_cpu");
  EXPECT_EQ(child.out, "1 1") << child;
}

CHILD_MAIN(goes_back_to_automatic) {
  for (const int n : {0, -1, INT_MIN}) {
    set_max_procs(7);
    if (set_max_procs(n) != 7) return 3;
    std::printf("%d ", max_procs());
  }
  return 7;
}

TEST(automatic_procs, come_back_with_a_number_that_is_none) {
  const auto automatic = run_child("prints_the_automatic_number");
  const std::string number = automatic.out.substr(0, automatic.out.find(' ') + 1);
  const auto child = run_child("goes_back_to_automatic", {{"SLEY_MAXPROCS", "3"}});
  EXPECT_EQ(child.out, number + number + number) << child;
  EXPECT_EQ(child.err, "") << child;
}

CHILD_MAIN(follows_its_affinity) {
  const cpu_set_t all = affinity();
  const cpu_set_t one = first_of(all);
  const int automatic = max_procs();
  if (automatic < 2) return skipped;
  return run([&] {
    set_affinity(one);
    if (!eventually([] { return max_procs() == 1; })) return 3;
    set_affinity(all);
    if (!eventually([&] { return max_procs() == automatic; })) return 4;
    set_max_procs(automatic);  // the same, but set: it stays
    set_affinity(one);
    if (!stays(automatic, 2500ms)) return 5;
    set_max_procs(0);
    if (max_procs() != 1) return 6;
    set_affinity(all);
    return eventually([&] { return max_procs() == automatic; }) ? 7 : 8;
  });
}
CHILD_MAIN(follows_its_affinity_unset) { return become_without_setting("follows_its_affinity"); }

// L5, ...SetDefault and ...Update, with the affinity instead of the quota
TEST(automatic_procs, follow_the_affinity_of_a_busy_process_unless_set) {
  const auto child = run_child("follows_its_affinity_unset");
  if (child.status == skipped) GTEST_SKIP() << "needs two CPUs";
  EXPECT_EQ(child.status, 7) << child;
}

CHILD_MAIN(keeps_its_setting) {
  if (max_procs() != 3) return 3;
  return run([] {
    set_affinity(first_of(affinity()));
    return stays(3, 2500ms) ? 7 : 4;
  });
}

// L6, ...DontUpdate
TEST(automatic_procs, are_not_asked_for_where_the_environment_sets_a_number) {
  const auto child = run_child("keeps_its_setting", {{"SLEY_MAXPROCS", "3"}});
  EXPECT_EQ(child.status, 7) << child;
}

CHILD_MAIN(prints_the_automatic_number_in_a_cgroup) {
  const char* cgroup = std::getenv("SLEY_TEST_CGROUP");
  if (cgroup == nullptr) return 98;
  if (!sley_test::write_to_cgroup(cgroup, "cgroup.procs", std::to_string(getpid()))) return skipped;
  return become_without_setting("prints_the_number");
}

namespace {

// Limits a cgroup of either version to this number of CPUs.
auto limit_of_cpus(double cpus) {
  const auto quota = std::to_string(static_cast<int>(cpus * 100'000));
  return [quota](const std::string& path) {
    return (sley_test::write_to_cgroup(path, "cpu.cfs_period_us", "100000") &&
            sley_test::write_to_cgroup(path, "cpu.cfs_quota_us", quota)) ||
           sley_test::write_to_cgroup(path, "cpu.max", quota + " 100000");
  };
}

}  // namespace

// L2, ...NoLimit, ...HigherThanNumCPU, ...Round: rounded up, two at least, but never more than the
// CPUs.
TEST(automatic_procs, are_no_more_than_the_cgroup_allows) {
  const auto cpus = sley::runtime::num_cpu();
  for (const auto& [limit, rounded] :
       {std::pair(0.5, 2), {1.5, 2}, {2.0, 2}, {2.5, 3}, {1000.0, 1000}}) {
    const sley_test::cgroup cgroup("cpu", limit_of_cpus(limit));
    if (cgroup.path().empty()) GTEST_SKIP() << "cannot make a cgroup with a CPU limit";
    const auto child =
        run_child("prints_the_automatic_number_in_a_cgroup", {{"SLEY_TEST_CGROUP", cgroup.path()}});
    if (child.status == skipped) GTEST_SKIP() << "cannot move a process to its cgroup";
    EXPECT_EQ(child.status, 7) << child;
    const auto expected = std::min(rounded, cpus);
    EXPECT_EQ(child.out, std::to_string(expected) + " " + std::to_string(cpus)) << limit;
  }
}
