// What a change of the number of processors must not disturb: sleepers, timers, queued goroutines
// of processors that are gone, figures, goroutines that compute. And what the figures say of
// goroutines that run, that want to, and that block.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <unistd.h>

using sley::chan;
using sley::runtime::max_procs;
using sley::runtime::num_goroutines;
using sley::runtime::read_stats;
using sley::runtime::set_max_procs;
using sley_test::eventually;
using sley_test::processors;
using sley_test::rounds;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Their timers belong to processors that are gone when the timers are due.
GO_TEST(procs, sleepers_and_timers_outlive_the_processors_they_were_armed_on) {
  const processors restored;
  for (int round = 0; round < 5; ++round) {
    set_max_procs(8);
    constexpr int count = 400;
    std::atomic<int> begun{0};
    std::atomic<int> woken{0};
    std::atomic<int> fired{0};
    std::atomic<int> stopped{0};
    sley::wait_group group;
    for (int i = 0; i < count; ++i) {
      group.go([&, i] {
        const sley::timer kept = sley::after_func(30ms, [&fired] { ++fired; });
        sley::timer dropped = sley::after_func(60s, [] { ADD_FAILURE() << "was stopped"; });
        ++begun;
        const auto until = steady_clock::now() + 20ms + i * 50us;
        this_goroutine::sleep_until(until);
        EXPECT_GE(steady_clock::now(), until);
        ++woken;
        if (dropped.stop()) ++stopped;
        while (fired < count) this_goroutine::sleep_for(1ms);
      });
    }
    EXPECT_TRUE(eventually([&] { return begun == count; }));
    set_max_procs(1 + round);
    group.wait();
    EXPECT_EQ(woken, count);
    EXPECT_EQ(fired, count);
    EXPECT_EQ(stopped, count);
  }
}

GO_TEST(procs, a_ticker_goes_on_ticking_over_changes) {
  const processors restored;
  sley::ticker ticks(500us);
  for (int i = 0; i < rounds(200); ++i) {
    set_max_procs(1 + i % 8);
    const auto tick = ticks.channel().receive();
    ASSERT_TRUE(tick);
  }
}

GO_TEST(procs, queued_goroutines_run_although_their_processor_is_gone) {
  const processors restored;
  for (int i = 0; i < rounds(100); ++i) {
    set_max_procs(8);
    std::atomic<int> ran{0};
    sley::wait_group group;
    constexpr int starters = 8;
    constexpr int each = 100;
    for (int s = 0; s < starters; ++s) {
      group.go([&] {
        for (int n = 0; n < each; ++n) group.go([&ran] { ++ran; });
      });
    }
    this_goroutine::yield();
    set_max_procs(1 + i % 3);
    group.wait();
    ASSERT_EQ(ran, starters * each);
  }
}

// C17, TestNumGoroutine, and the counts of processors that are gone.
GO_TEST(procs, figures_keep_the_counts_of_removed_processors) {
  const processors restored;
  const std::size_t before = num_goroutines();
  auto last = read_stats();
  for (int i = 0; i < rounds(50); ++i) {
    set_max_procs(1 + (i * 5) % 8);
    const chan<void> release;
    sley::wait_group group;
    for (int n = 0; n < 50; ++n) group.go([release] { release.receive(); });
    EXPECT_EQ(num_goroutines(), before + 50);
    this_goroutine::yield();
    set_max_procs(1 + (i * 3) % 8);
    EXPECT_EQ(num_goroutines(), before + 50);
    release.close();
    group.wait();
    EXPECT_TRUE(eventually([&] { return num_goroutines() == before; })) << num_goroutines();
    const auto now = read_stats();
    EXPECT_EQ(now.spawned, last.spawned + 50);
    EXPECT_GE(now.parks, last.parks);
    EXPECT_GE(now.switches, last.switches + 50);
    EXPECT_GE(now.steals, last.steals);
    EXPECT_GE(now.preemptions, last.preemptions);
    EXPECT_EQ(now.procs, static_cast<std::uint64_t>(max_procs()));
    EXPECT_LE(now.idle_procs, now.procs);
    last = now;
  }
}

// C21, TestTraceSTW, as it shows outside: a goroutine that computes stays on its thread all the
// time, and changes leave no thread behind with a goroutine on it while others get new threads.
GO_TEST(procs, goroutines_that_compute_stay_on_their_threads_over_changes) {
  const processors four(4);
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};
  std::atomic<int> moves{0};
  sley::wait_group group;
  for (int i = 0; i < 2; ++i) {
    group.go([&] {
      const pid_t tid = gettid();
      ++running;
      while (!stop) {
        if (gettid() != tid) ++moves;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return running == 2; }));
  const std::uint64_t threads = read_stats().threads;
  for (int i = 0; i < rounds(100); ++i) set_max_procs(3 + i % 2);
  EXPECT_LE(read_stats().threads, threads + 8) << "before there were " << threads;
  stop = true;
  group.wait();
  EXPECT_EQ(moves, 0);
}

// --- figures -------------------------------------------------------------------------------------

// C20, TestSchedMetrics: ten that are running on 14 processors, and ten runnable on one.
GO_TEST(procs, running_and_runnable_goroutines_are_counted) {
  const processors restored;
  constexpr int count = 10;
  std::atomic<bool> stop{false};
  std::atomic<int> ready{0};
  sley::wait_group group;
  const auto before = read_stats();
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      ++ready;
      while (!stop) {
        const auto pause = steady_clock::now() + 10ms;
        while (!stop && steady_clock::now() < pause) {
        }
        this_goroutine::yield();
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return ready == count; }));
  EXPECT_EQ(read_stats().spawned, before.spawned + count);
  EXPECT_EQ(read_stats().goroutines, before.goroutines + count);
  set_max_procs(count + 4);
  EXPECT_TRUE(eventually([] {
    const auto now = read_stats();
    return now.procs - now.idle_procs >= count && now.threads - now.idle_threads >= count;
  }));
  set_max_procs(1);
  EXPECT_TRUE(eventually([] {
    const auto now = read_stats();
    const auto queued = now.global_queue + now.local_queues;
    return queued >= count - 1 && queued <= count;
  })) << read_stats().global_queue
      << " and " << read_stats().local_queues << " are queued";
  EXPECT_EQ(read_stats().idle_procs, 0u);
  stop = true;
  group.wait();
}

// C20: ten in a blocking read.
GO_TEST(procs, goroutines_in_blocking_calls_are_counted_and_keep_threads_busy) {
  constexpr int count = 10;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto before = read_stats();
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&ends] {
      char byte = 0;
      EXPECT_EQ(sley::blocking([&] { return read(ends[0], &byte, 1); }), 1);
    });
  }
  EXPECT_TRUE(eventually([] {
    const auto now = read_stats();
    return now.threads - now.idle_threads >= count;
  }));
  EXPECT_EQ(read_stats().goroutines, before.goroutines + count);
  EXPECT_EQ(write(ends[1], "0123456789", count), count);
  group.wait();
  close(ends[0]);
  close(ends[1]);
}
