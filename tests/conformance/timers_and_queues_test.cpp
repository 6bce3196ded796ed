// Aim: timers and goroutines that wait in queues do not put each other off for ever, however many
// there are of either. Method: more of the one than there is time for, and a few of the other.
// What is compared are numbers of turns, because times say nothing on a busy machine.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

using sley::this_goroutine::sleep_for;
using sley_test::under_sanitizer;
using namespace std::chrono_literals;

namespace {

constexpr int many = under_sanitizer ? 1'000 : 5'000;

void compute_for(std::chrono::nanoseconds time) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < time) {
  }
}

// CPU time, which passes on this thread alone.
std::chrono::nanoseconds cpu_time() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// Threads of the program that compute while it lives: the machines get a small part of the CPUs.
class crowd {
 public:
  explicit crowd(std::size_t count) : threads_(count) {
    for (auto& t : threads_) {
      t = std::thread([this] {
        while (!stop_) {
        }
      });
    }
  }
  ~crowd() {
    stop_ = true;
    for (auto& t : threads_) t.join();
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Goroutines for which it is always time to wake. Each computes for `turn` when it has woken.
class restless {
 public:
  explicit restless(int count, std::chrono::nanoseconds turn = 0ns) {
    for (int i = 0; i < count; ++i) {
      group_.go([this, turn] {
        while (!stop_) {
          sleep_for(1us);
          ++wakes_;
          compute_for(turn);
        }
      });
    }
  }
  ~restless() {
    stop_ = true;
    group_.wait();
  }
  restless(const restless&) = delete;
  restless& operator=(const restless&) = delete;

  long wakes() const { return wakes_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<long> wakes_ = 0;
  sley::wait_group group_;
};

// Goroutines that a thread of the user starts are in the global queue. Returns the number of wakes
// until `count` of them have begun. As many more are started as the processors' queues hold,
// because goroutines there may be with a thread that gets no CPU. The last one that counts looks
// itself, because the kernel may let the main goroutine wait for long after it.
long wakes_until_begun(const restless& others, int count) {
  const int all = count + 257 * sley::runtime::max_procs();
  std::atomic<int> begun = 0;
  std::atomic<long> wakes_after = 0;
  long wakes_before = 0;
  sley::blocking([&] {
    std::thread starter([&] {
      for (int i = 0; i < all; ++i) {
        sley::go([&] {
          if (++begun == count) wakes_after = others.wakes();
        });
      }
      wakes_before = others.wakes();
    });
    starter.join();
  });
  EXPECT_TRUE(sley_test::eventually([&] { return begun == all; }));
  return wakes_after - wakes_before;
}

}  // namespace

// They come in at the rate of goroutines that timers wake, and not one at each 61st turn.
GO_TEST(timers_and_queues, timers_that_are_always_due_do_not_starve_the_global_queue) {
  const restless others(many);
  EXPECT_LT(wakes_until_begun(others, many), 10L * many);
}

// The local queues never have room for a whole batch of timers, because with turns of 20 us a round
// of a queue takes longer than timers wait for room.
GO_TEST(timers_and_queues, timers_of_computing_goroutines_do_not_starve_the_global_queue) {
  const restless others(512 * sley::runtime::max_procs(), 20us);
  constexpr int count = 1'000;
  EXPECT_LT(wakes_until_begun(others, count), 10L * count);
}

// A thread that waits for a CPU ends no turn, so the slice of its goroutine seems to be over. A
// goroutine that is stopped in its turn keeps its thread, and the others need one more.
GO_TEST(timers_and_queues, short_turns_are_not_cut_while_threads_wait_for_cpus) {
  const int procs = sley::runtime::max_procs();
  const crowd others(8);
  const auto before = sley::runtime::read_stats().threads;
  sley::wait_group group;
  for (int i = 0; i < 64 * procs; ++i) {
    group.go([&] {
      for (int turn = 0; turn < 30; ++turn) {
        sleep_for(1us);
        const auto start = cpu_time();
        while (cpu_time() - start < 200us) {
        }
      }
    });
  }
  group.wait();
  EXPECT_LE(sley::runtime::read_stats().threads, before + 3U * static_cast<unsigned>(procs) + 6);
}

// A goroutine that a slice's end stops is in the global queue, and its thread waits for it.
GO_TEST(timers_and_queues, timers_that_are_always_due_do_not_starve_computing_goroutines) {
  const restless others(many / 5);
  const int hogs = 4 * sley::runtime::max_procs();
  std::atomic<int> had_turns = 0;
  sley::wait_group group;
  for (int i = 0; i < hogs; ++i) {
    group.go([&] {
      compute_for(50ms);
      ++had_turns;
    });
  }
  group.wait();
  EXPECT_EQ(had_turns, hogs);
  EXPECT_GT(others.wakes(), 0);
}

// A processor whose queue is full all the time has no room for woken goroutines, and wakes some all
// the same.
GO_TEST(timers_and_queues, timers_fire_beside_a_queue_that_is_always_full) {
  std::atomic<bool> stop = false;
  sley::wait_group spawners;
  for (int i = 0; i < sley::runtime::max_procs(); ++i) {
    spawners.go([&] {
      while (!stop) sley::go([] {});
    });
  }
  std::atomic<int> woken = 0;
  sley::wait_group sleepers;
  for (int i = 0; i < 100; ++i) {
    sleepers.go([&] {
      for (int k = 0; k < 3; ++k) sleep_for(1ms);
      ++woken;
    });
  }
  const sley::timer last = sley::after_func(10ms, [&] { ++woken; });
  sleepers.wait();
  EXPECT_TRUE(sley_test::eventually([&] { return woken == 101; }));
  stop = true;
  spawners.wait();
}

// The number of waiting goroutines falls from very many to none. Memory that is prefetched may be
// gone, or never have existed, as the stack of a goroutine that begins.
GO_TEST(timers_and_queues, a_goroutine_that_wakes_among_very_many_is_unchanged) {
  constexpr int count = under_sanitizer ? 6'000 : 12'000;
  std::atomic<int> right = 0;
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&, i] {
      int local = i;
      for (int k = 0; k < 3; ++k) {
        sleep_for(std::chrono::microseconds(i % 997));
        local += k;
      }
      if (local == i + 3) ++right;
    });
    if (i % 3 == 0) sley::after_func(std::chrono::microseconds(i % 991), [&] { ++right; });
  }
  group.wait();
  EXPECT_TRUE(sley_test::eventually([&] { return right == count + (count + 2) / 3; }));
}
