// Threads that many blocking calls at once have made necessary go again when they have not been
// needed for a while: the process comes down to a few, and works as before.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

using sley::chan;
using sley_test::eventually;
using sley_test::rounds;
using sley_test::threads_of_process;
using sley_test::verdict;
using namespace std::chrono_literals;

namespace {

// Lives as long as its thread.
struct thread_witness {
  thread_witness() { ++alive; }
  ~thread_witness() { --alive; }
  bool touched = false;
  static inline std::atomic<int> alive{0};
};
thread_local thread_witness witness;

// Starts `count` goroutines in blocking reads at the same time, sees them there, and lets them go.
void block_at_once(int count) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = threads_of_process();
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      char byte = 0;
      const auto bytes = sley::blocking([&] {
        witness.touched = true;
        return read(ends[0], &byte, 1);
      });
      EXPECT_EQ(bytes, 1);
    });
  }
  EXPECT_TRUE(eventually([&] { return threads_of_process() >= count; }))
      << threads_of_process() << " threads for " << count << " blocking calls";
  EXPECT_LE(threads_of_process(), before + count + sley::runtime::max_procs() + 10);
  std::printf("%d threads while %d goroutines block\n", threads_of_process(), count);
  const std::string bytes(static_cast<std::size_t>(count), 'x');
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(count));
  group.wait();
  close(ends[0]);
  close(ends[1]);
}

// A few: the threads of the test and the runtime's own, one for each processor, and some to spare.
int few() { return sley::runtime::max_procs() + 16; }

void expect_few_threads(bool asleep) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [start] { return std::chrono::steady_clock::now() - start; };
  while (threads_of_process() > few() && passed() < 30s) {
    if (asleep) {
      sley::this_goroutine::sleep_for(100ms);
    } else {
      sley::this_goroutine::yield();
    }
  }
  std::printf("%d threads after %.1f s\n", threads_of_process(),
              std::chrono::duration<double>(passed()).count());
  EXPECT_LE(threads_of_process(), few());
  EXPECT_LE(sley::runtime::read_stats().threads, static_cast<std::uint64_t>(few()));
  EXPECT_LE(thread_witness::alive, few()) << "destructors of thread_locals have not run";
}

void expect_to_work() {
  const chan<int> c(4);
  std::atomic<std::int64_t> sum{0};
  sley::wait_group senders;
  sley::wait_group receivers;
  const int values = rounds(5000);
  for (int i = 0; i < 8; ++i) {
    senders.go([=] {
      for (int v = 1; v <= values; ++v) c.send(v);
    });
    receivers.go([&, c] {
      for (const int v : c) sum += v;
    });
  }
  senders.wait();
  c.close();
  receivers.wait();
  EXPECT_EQ(sum, std::int64_t{8} * values * (values + 1) / 2);
}

}  // namespace

CHILD_MAIN(sleeps_after_blocking_calls) {
  return sley::run([] {
    block_at_once(200);
    expect_few_threads(true);
    expect_to_work();
    block_at_once(50);
    expect_to_work();
    return verdict();
  });
}

// Work on one goroutine is no reason to keep two hundred threads.
CHILD_MAIN(is_busy_after_blocking_calls) {
  return sley::run([] {
    block_at_once(200);
    expect_few_threads(false);
    expect_to_work();
    return verdict();
  });
}

// Threads that are locked to goroutines are not idle ones, however long those wait.
CHILD_MAIN(waits_on_locked_threads) {
  return sley::run([] {
    constexpr int count = 30;
    const chan<void> release;
    std::atomic<int> locked{0};
    std::atomic<int> kept{0};
    sley::wait_group group;
    for (int i = 0; i < count; ++i) {
      group.go([&] {
        const sley::os_thread_lock lock;
        const pid_t tid = gettid();
        ++locked;
        release.receive();
        if (gettid() == tid) ++kept;
      });
    }
    EXPECT_TRUE(eventually([&] { return locked == count; }));
    block_at_once(100);
    sley::this_goroutine::sleep_for(12s);
    EXPECT_GE(threads_of_process(), count);
    expect_to_work();
    release.close();
    group.wait();
    EXPECT_EQ(kept, count);
    return verdict();
  });
}

// All at the same time, because each takes some seconds.
TEST(threads_retire, after_a_while_without_use_and_the_runtime_works_on) {
  const std::vector<std::string> names = {
      "sleeps_after_blocking_calls", "is_busy_after_blocking_calls", "waits_on_locked_threads"};
  const auto children = sley_test::run_children(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%s:\n%s", names[i].c_str(), children[i].out.c_str());
    EXPECT_EQ(children[i].status, 7) << names[i] << ": " << children[i];
  }
}
