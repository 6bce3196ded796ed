// An idle process sleeps: with thousands of parked goroutines, timers far away and threads in
// blocking calls there is not a single context switch, once things have settled; with a ticker
// there are a few for each tick. The thread of the test itself sleeps by one system call and is not
// counted.
#include "support/child.hpp"
#include "support/scale.hpp"
#include "support/threads.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

using sley::chan;
using sley_test::at_most;
using sley_test::eventually;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

// How often each other thread was taken off a CPU so far, by its number: because it slept, and
// because its time was over.
std::map<std::string, std::uint64_t> switches_of_other_threads() {
  std::map<std::string, std::uint64_t> result;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string tid = task.path().filename();
    if (tid == std::to_string(gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      const std::size_t name = line.find("voluntary_ctxt_switches:");
      if (name > 3) continue;  // with or without "non"
      result[tid] += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return result;
}

// Looks for two seconds in which nothing happens. What settles may do so for twenty before, but
// whatever comes back every now and then shows in each of the looks.
void expect_no_switches() {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  auto now = switches_of_other_threads();
  for (int look = 1;; ++look) {
    const auto before = now;
    sley_test::sleep_in_the_kernel(2s);
    now = switches_of_other_threads();
    if (now == before) {
      std::printf("%zu threads, none of them awake in look %d\n", now.size(), look);
      return;
    }
    if (std::chrono::steady_clock::now() < deadline) continue;
    for (const auto& [tid, count] : now) {
      const auto same = before.find(tid);
      const std::uint64_t old = same == before.end() ? 0 : same->second;
      EXPECT_EQ(count, old) << "thread " << tid << " has been awake in the last two seconds";
    }
    EXPECT_EQ(now.size(), before.size()) << "threads came or went";
    return;
  }
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& switches) {
  std::uint64_t sum = 0;
  for (const auto& [tid, count] : switches) sum += count;
  return sum;
}

// Looks for two seconds in which a tick costs no more context switches than that, as above.
void expect_few_switches_for_each(const std::atomic<std::uint64_t>& ticks, std::uint64_t most) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  for (int look = 1;; ++look) {
    const std::uint64_t ticks_before = ticks;
    const std::uint64_t before = sum_of(switches_of_other_threads());
    sley_test::sleep_in_the_kernel(2s);
    const std::uint64_t switches = sum_of(switches_of_other_threads()) - before;
    const std::uint64_t ticked = ticks - ticks_before;
    std::printf("%llu ticks, %llu context switches in look %d\n",
                static_cast<unsigned long long>(ticked), static_cast<unsigned long long>(switches),
                look);
    if (ticked != 0 && switches <= most * ticked) return;
    if (std::chrono::steady_clock::now() < deadline) continue;
    EXPECT_LE(switches, most * ticked);
    return;
  }
}

// Parks `count` goroutines, after they have done something.
class parked_goroutines {
 public:
  explicit parked_goroutines(int count) {
    for (int i = 0; i < count; ++i) {
      group_.go([this] {
        for (int n = 0; n < 3; ++n) sley::this_goroutine::yield();
        ++arrived_;
        release_.receive();
      });
    }
    EXPECT_TRUE(eventually([=, this] { return arrived_ == count; }));
  }
  ~parked_goroutines() {
    release_.close();
    group_.wait();
  }
  parked_goroutines(const parked_goroutines&) = delete;
  parked_goroutines& operator=(const parked_goroutines&) = delete;

 private:
  const chan<void> release_;
  std::atomic<int> arrived_{0};
  sley::wait_group group_;
};

}  // namespace

CHILD_MAIN(has_parked_goroutines) {
  const parked_goroutines parked(at_most(rounds(10'000)));
  expect_no_switches();
  return sley_test::verdict();
}

CHILD_MAIN(has_timers_far_away_and_threads_in_blocking_calls) {
  constexpr int count = 3;
  int ends[2];
  if (pipe(ends) != 0) return 4;
  sley::wait_group group;
  std::atomic<int> reading{0};
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      char byte = 0;
      ++reading;
      EXPECT_EQ(sley::blocking([&] { return read(ends[0], &byte, 1); }), 1);
    });
  }
  EXPECT_TRUE(eventually([&] { return reading == count; }));
  const sley::timer timer = sley::after_func(1h, [] {});
  const chan<void> release;
  group.go([release] { sley::select(sley::on_receive(release), sley::on_timeout(1h)); });
  {
    const parked_goroutines parked(100);
    expect_no_switches();
  }
  release.close();
  EXPECT_EQ(write(ends[1], "012", count), count);
  group.wait();
  return sley_test::verdict();
}

// A tick wakes the machine that waits for it and one that looks for more work. sysmon looks after
// it, and a few times more if the machine was late. On a busy machine some threads also lose their
// CPU meanwhile.
CHILD_MAIN(has_a_ticker) {
  const chan<void> release;
  std::atomic<std::uint64_t> ticks{0};
  sley::wait_group group;
  group.go([&, release] {
    const sley::ticker ticker(100ms);
    bool is_released = false;
    while (!is_released) {
      sley::select(sley::on_receive(ticker.channel(), [&](auto) { ++ticks; }),
                   sley::on_receive(release, [&](bool) { is_released = true; }));
    }
  });
  expect_few_switches_for_each(ticks, 8);
  release.close();
  group.wait();
  return sley_test::verdict();
}

CHILD_MAIN(is_between_two_runs) {
  const chan<void> release;
  std::atomic<bool> ended{false};
  sley::run([&] {
    sley::go([&] {
      while (!ended) sley::this_goroutine::yield();
    });
    sley::go([&] {
      release.receive();
      ended = true;
    });
    sley::this_goroutine::sleep_for(20ms);
  });
  expect_no_switches();
  sley::run([&] {
    release.close();
    EXPECT_TRUE(eventually([] { return sley::runtime::num_goroutines() == 1; }));
  });
  return sley_test::verdict();
}

// All at the same time, because each takes some seconds to settle.
TEST(idle, a_process_makes_context_switches_only_for_what_it_has_to_do) {
  if (sley_test::under_tsan) GTEST_SKIP() << "it has a thread that is never idle for long";
  const std::vector<std::string> names = {"has_parked_goroutines",
                                          "has_timers_far_away_and_threads_in_blocking_calls",
                                          "has_a_ticker", "is_between_two_runs"};
  const auto children = sley_test::run_children(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%s:\n%s", names[i].c_str(), children[i].out.c_str());
    EXPECT_EQ(children[i].status, 7) << names[i] << ": " << children[i];
  }
}
