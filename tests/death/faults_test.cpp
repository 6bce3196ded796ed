// A system that refuses threads or memory while the program runs. The program goes on with its
// threads and memory, one line on stderr names the refusal and the limit that may be its cause, and
// nothing is lost. A seccomp filter, a resource limit or a cgroup plays the system.
#include "support/cgroup.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/refuse.hpp"
#include "support/text.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using sley::chan;
using sley::run;
using sley_test::child_result;
using sley_test::occurrences;
using sley_test::run_child;
using sley_test::skipped;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

// Runs `count` goroutines that each make a blocking call and send a value after it.
bool block_and_count(int count) {
  const chan<int> done(8);
  for (int i = 1; i <= count; ++i) {
    sley::go([=] {
      sley::blocking([] { usleep(2000); });
      done.send(i);
    });
  }
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += *done.receive();
  return sum == long{count} * (count + 1) / 2;
}

// Longer than it takes to give up hoping and to say so.
constexpr auto a_while = 2s;

bool block_and_count_for_a_while() {
  const auto end = std::chrono::steady_clock::now() + a_while;
  while (std::chrono::steady_clock::now() < end) {
    if (!block_and_count(200)) return false;
  }
  return true;
}

// Runs `count` goroutines at the same time, each with a thread for itself.
bool lock_all_at_once(int count) {
  const chan<void> locked;
  const chan<void> release;
  std::atomic<int> kept{0};
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&, locked, release] {
      const sley::os_thread_lock lock;
      const pid_t tid = gettid();
      locked.send();
      release.receive();
      if (gettid() == tid) ++kept;
    });
  }
  for (int i = 0; i < count; ++i) locked.receive();
  release.close();
  group.wait();
  return kept == count;
}

}  // namespace

// --- no more threads -----------------------------------------------------------------------------

CHILD_MAIN(is_refused_threads) {
  return run([] {
    sley::async([] {}).get();
    if (!sley_test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}})) return skipped;
    return block_and_count_for_a_while() ? 7 : 3;
  });
}

TEST(faults, without_more_threads_the_program_goes_on_with_its_present_ones) {
  // The leak checker of the address sanitizer makes a thread of its own.
  const auto child = run_child("is_refused_threads", {{"ASAN_OPTIONS", "detect_leaks=0"}});
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
  sley_test::expect_one_line(child, "thread.*(RLIMIT_NPROC|pids)");
}

namespace {

// Each computes until it has seen three times that another one has, or all others have ended.
void compute_in_turn(int goroutines) {
  std::atomic<int> last{0};
  std::atomic<int> ended{0};
  sley::wait_group group;
  for (int self = 1; self <= goroutines; ++self) {
    group.go([&, self] {
      for (int seen = 0; seen < 3 && ended < goroutines - 1;) {
        if (last.exchange(self) != self) ++seen;
      }
      ++ended;
    });
  }
  group.wait();
}

// Puts goroutines into the global queue all the time, because they come from a foreign thread.
class newcomers {
 public:
  ~newcomers() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] {
    for (; !stop_; std::this_thread::sleep_for(1ms)) sley::go([] {});
  }};
};

}  // namespace

CHILD_MAIN(computes_without_more_threads) {
  return run([] {
    if (!lock_all_at_once(10)) return 3;
    sley::runtime::set_max_procs(1);
    const newcomers in_line;
    if (!sley_test::refuse({{SYS_clone, EAGAIN}, {SYS_clone3, EAGAIN}})) return skipped;
    compute_in_turn(40);
    return 7;
  });
}

// A goroutine that was stopped in the middle of something may hold a lock that the making of a
// thread needs. So it goes on whether a thread comes or not, even if a goroutine that needs the new
// thread is first in line.
TEST(faults, goroutines_with_their_own_threads_take_turns_without_other_threads) {
  const auto child =
      run_child("computes_without_more_threads", {{"ASAN_OPTIONS", "detect_leaks=0"}});
  if (child.status == skipped) GTEST_SKIP() << "seccomp is refused";
  EXPECT_EQ(child.status, 7) << child;
}

namespace {

// A limit of threads that can be lifted again: a cgroup's, if SLEY_TEST_CGROUP names one, or the
// user's.
class thread_limit {
 public:
  // False if this process cannot be limited so.
  bool prepare() const {
    if (cgroup_ != nullptr) return write("cgroup.procs", std::to_string(getpid()));
    // The superuser has no limit. Another user has one, and no other process runs as that user.
    return getuid() != 0 || setresuid(some_user, some_user, some_user) == 0;
  }
  bool set() const {
    if (cgroup_ != nullptr) return write("pids.max", "1");
    return set_soft_limit(1);
  }
  bool lift() const {
    if (cgroup_ != nullptr) return write("pids.max", "max");
    rlimit limit = {};
    getrlimit(RLIMIT_NPROC, &limit);
    return set_soft_limit(limit.rlim_max);
  }

  static bool works() {
    try {
      std::thread([] {}).join();
      return false;
    } catch (const std::system_error&) {
      return true;
    }
  }

 private:
  static constexpr uid_t some_user = 54321;

  bool write(const char* file, const std::string& text) const {
    return sley_test::write_to_cgroup(cgroup_, file, text);
  }
  static bool set_soft_limit(rlim_t most) {
    rlimit limit = {};
    getrlimit(RLIMIT_NPROC, &limit);
    limit.rlim_cur = std::min(most, limit.rlim_max);
    return setrlimit(RLIMIT_NPROC, &limit) == 0;
  }

  const char* cgroup_ = std::getenv("SLEY_TEST_CGROUP");
};

// Has a limit that can be set.
bool can_limit_threads(const std::string& path) {
  return sley_test::write_to_cgroup(path, "pids.max", "max");
}

}  // namespace

CHILD_MAIN(is_limited_for_a_while) {
  const thread_limit limit;
  if (!limit.prepare()) return skipped;
  return run([&limit] {
    sley::async([] {}).get();
    if (!limit.set() || !limit.works()) return skipped;
    if (!block_and_count_for_a_while()) return 3;
    if (!limit.lift() || limit.works()) return 4;
    return block_and_count(200) && lock_all_at_once(30) ? 7 : 5;
  });
}

// Locked goroutines cannot do with fewer threads: they wait until there are some.
CHILD_MAIN(locks_while_it_is_limited) {
  const thread_limit limit;
  if (!limit.prepare()) return skipped;
  std::atomic<bool> limited{false};
  std::thread lifter([&] {
    while (!limited) std::this_thread::yield();
    std::this_thread::sleep_for(a_while);
    limit.lift();
  });
  const int status = run([&] {
    sley::async([] {}).get();
    const bool can_be = limit.set() && limit.works();
    limited = true;
    if (!can_be) return skipped;
    return lock_all_at_once(30) ? 7 : 3;
  });
  lifter.join();
  return status;
}

TEST(faults, a_limit_of_threads_is_survived_and_its_end_noticed) {
  struct limited {
    std::string name;
    sley_test::environment environment;
    child_result child = {};
  };
  const sley_test::cgroup cgroups[2] = {{"pids", can_limit_threads}, {"pids", can_limit_threads}};
  std::vector<limited> all;
  for (const bool locks : {false, true}) {
    const char* name = locks ? "locks_while_it_is_limited" : "is_limited_for_a_while";
    all.push_back({name, {}});
    const sley_test::cgroup& own = cgroups[locks ? 1 : 0];
    if (!own.path().empty()) all.push_back({name, {{"SLEY_TEST_CGROUP", own.path()}}});
  }
  // All at the same time, because each takes a while.
  std::vector<std::thread> threads;
  for (limited& one : all) {
    threads.emplace_back([&one] { one.child = run_child(one.name, one.environment); });
  }
  for (auto& thread : threads) thread.join();
  int tried = 0;
  for (const limited& one : all) {
    if (one.child.status == skipped) continue;
    ++tried;
    EXPECT_EQ(one.child.status, 7) << one.name << ": " << one.child;
    sley_test::expect_one_line(one.child, "thread.*(RLIMIT_NPROC|pids)");
  }
  if (tried == 0) GTEST_SKIP() << "no such limit can be set here";
}

// --- no more memory ------------------------------------------------------------------------------

namespace {

std::size_t address_space_in_use() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

bool limit_address_space(rlim_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

// All that it allocates is there before memory is short.
struct crowd {
  const chan<void> gate;
  sley::wait_group group;
  int started = 0;
  bool refused = false;  // by std::bad_alloc
  std::atomic<int> ended{0};
};

// Starts goroutines that wait for each other until there are enough, or no memory for more. A
// goroutine that gets no stack waits for one, which comes when the others end.
void gather(crowd& c, int wanted) {
  std::atomic<int> begun{0};
  try {
    for (; c.started < wanted; ++c.started) {
      c.group.go([&] {
        ++begun;
        c.gate.receive();
        ++c.ended;
      });
    }
  } catch (const std::bad_alloc&) {
    c.refused = true;
  }
  const auto all_wait = [&] {
    const auto stats = sley::runtime::read_stats();
    return begun > 0 && stats.global_queue + stats.local_queues == 0;
  };
  while (!all_wait()) this_goroutine::yield();
  c.gate.close();
  c.group.wait();
}

}  // namespace

CHILD_MAIN(runs_out_of_memory) {
  return run([] {
    // Threads and some stacks are there before memory is short.
    if (!block_and_count(20)) return 3;
    crowd before, during, again, after;
    gather(before, 200);
    if (!limit_address_space(address_space_in_use() + (4 << 20))) return skipped;
    gather(during, 200'000);
    if (during.started < 200 || during.ended != during.started) return 4;
    // The memory of the first goroutines serves the next ones.
    gather(again, during.started / 2);
    if (again.refused || again.ended != during.started / 2) return 5;
    if (!limit_address_space(RLIM_INFINITY)) return 6;
    gather(after, 5000);
    return !after.refused && after.ended == 5000 ? 7 : 8;
  });
}

TEST(faults, without_more_memory_goroutines_wait_for_stacks_or_are_refused_and_none_is_lost) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers need address space of their own";
  const auto child = run_child("runs_out_of_memory");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(occurrences(child.err, "\n"), occurrences(child.err, "sley: ")) << child;
  EXPECT_TRUE(sley_test::contains_match(child.err, "sley: .*stack.*RLIMIT_AS")) << child;
  // Perhaps one more, about threads: those need memory as well.
  EXPECT_LE(occurrences(child.err, "\n"), 2) << child;
}
