// The number of processors changes while a program runs: whatever it is changed to, and whichever
// thread changes it, nothing is lost or doubled, and as many goroutines run at the same time as the
// new number says. That is seen by letting them wait for each other without calling the library.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

using sley::chan;
using sley::run;
using sley::runtime::max_procs;
using sley::runtime::read_stats;
using sley::runtime::set_max_procs;
using sley_test::eventually;
using sley_test::processors;
using sley_test::random_source;
using sley_test::rounds;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

namespace {

constexpr int most_procs = 256;

// Goroutines of all kinds at work, with an account of what they did.
class load {
 public:
  load() {
    start_stream();
    start_spawner();
    start_sleepers();
    start_timers();
  }
  load(const load&) = delete;
  load& operator=(const load&) = delete;
  ~load() {
    stop_ = true;
    senders_.wait();
    values_.close();
    group_.wait();
    EXPECT_EQ(received_, sent_) << "values lost or doubled";
    EXPECT_EQ(ran_, spawned_) << "goroutines lost or doubled";
    EXPECT_EQ(fired_, armed_) << "timers lost or doubled";
    EXPECT_EQ(woken_early_, 0) << "sleepers woken too early";
    for (const std::atomic<std::int64_t>* laps : {&sent_, &spawned_, &naps_, &fired_}) {
      EXPECT_GT(*laps, 0) << "some did not run at all";
    }
  }

  // One more, which computes and never calls the library: each turn of it is as long as preemption
  // lets it.
  void add_hog() {
    group_.go([this] {
      while (!stop_) {
      }
    });
  }

 private:
  void start_stream() {
    for (int i = 0; i < 4; ++i) {
      senders_.go([this] {
        while (!stop_) {
          values_.send(1);
          ++sent_;
        }
      });
      group_.go([this] {
        for (const int value : values_) received_ += value;
      });
    }
  }

  void start_spawner() {
    group_.go([this] {
      while (!stop_) {
        sley::wait_group batch;
        for (int i = 0; i < 300; ++i) {  // more than a processor's own queue holds
          ++spawned_;
          batch.go([this] { ++ran_; });
        }
        batch.wait();
      }
    });
  }

  void start_sleepers() {
    for (int i = 0; i < 20; ++i) {
      group_.go([this, i] {
        while (!stop_) {
          const auto until = steady_clock::now() + i * 100us;
          this_goroutine::sleep_until(until);
          if (steady_clock::now() < until) ++woken_early_;
          ++naps_;
        }
      });
    }
  }

  void start_timers() {
    group_.go([this] {
      while (!stop_) {
        std::vector<sley::timer> timers;
        sley::wait_group pending;
        for (int i = 0; i < 20; ++i) {
          ++armed_;
          pending.add(1);
          timers.push_back(sley::after_func(i * 50us, [this, &pending] {
            ++fired_;
            pending.done();
          }));
        }
        pending.wait();
      }
    });
  }

  std::atomic<bool> stop_{false};
  const chan<int> values_{16};
  std::atomic<std::int64_t> sent_{0};
  std::atomic<std::int64_t> received_{0};
  std::atomic<std::int64_t> spawned_{0};
  std::atomic<std::int64_t> ran_{0};
  std::atomic<std::int64_t> naps_{0};
  std::atomic<std::int64_t> woken_early_{0};
  std::atomic<std::int64_t> armed_{0};
  std::atomic<std::int64_t> fired_{0};
  sley::wait_group senders_;
  sley::wait_group group_;
};

}  // namespace

CHILD_MAIN(sets_and_asks) {
  const auto all_right = [](int before) {
    for (const auto& [asked, got] : {std::pair(5, 5),
                                     {1, 1},
                                     {256, 256},
                                     {257, 256},
                                     {3, 3},
                                     {1'000'000, 256},
                                     {INT_MAX, 256},
                                     {2, 2},
                                     {2, 2}}) {
      if (set_max_procs(asked) != before || max_procs() != got) return false;
      if (read_stats().procs != static_cast<std::uint64_t>(got)) return false;
      before = got;
    }
    return true;
  };
  if (!all_right(3)) return 4;
  return run([&] { return all_right(2) ? 7 : 5; });
}

// C18, TestBigGOMAXPROCS: too many are as many as there can be.
TEST(procs, a_change_returns_the_old_number_and_too_many_are_the_most_there_can_be) {
  const auto child = sley_test::run_child("sets_and_asks", {{"SLEY_MAXPROCS", "3"}});
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// C18
GO_TEST(procs, the_largest_number_works) {
  const processors many(1024);
  EXPECT_EQ(max_procs(), most_procs);
  std::atomic<int> ran{0};
  sley::wait_group group;
  for (int i = 0; i < rounds(10'000); ++i) {
    group.go([&ran] {
      this_goroutine::yield();
      ++ran;
    });
  }
  group.wait();
  EXPECT_EQ(ran, rounds(10'000));
}

GO_TEST(procs, numbers_from_one_to_the_most_under_load_lose_and_double_nothing) {
  const processors restored;
  random_source random(1);
  int current = max_procs();
  const auto change = [&](int times, std::chrono::seconds limit) {
    const auto deadline = steady_clock::now() + limit;
    int changes = 0;
    // One of the load's goroutines never sleeps: a change may wait for some time slices, and longer
    // where the computer has other things to do. A minimum of changes gives the test a meaning.
    while (changes < times && (changes < rounds(10) || steady_clock::now() < deadline)) {
      const int next = 1 + random.index(random.one_in(8) ? most_procs : 8);
      EXPECT_EQ(set_max_procs(next), current);
      EXPECT_EQ(max_procs(), next);
      EXPECT_EQ(read_stats().procs, static_cast<std::uint64_t>(next));
      current = next;
      ++changes;
    }
  };
  load others;
  change(rounds(4000), 2s);
  others.add_hog();
  change(rounds(500), 2s);
}

namespace {

void respawn(const std::atomic<bool>& stop, sley::wait_group& group) {
  if (!stop) group.go([&] { respawn(stop, group); });
}

}  // namespace

// C6, TestStopTheWorldDeadlock
GO_TEST(procs, an_endlessly_respawning_goroutine_does_not_hold_up_changes) {
  const processors three(3);
  std::atomic<bool> stop{false};
  sley::wait_group perpetual;
  respawn(stop, perpetual);
  sley::wait_group changers;
  for (const bool varies : {false, true}) {
    changers.go([varies] {
      for (int i = 0; i < rounds(1000); ++i) set_max_procs(varies ? 1 + i % 4 : 3);
    });
  }
  changers.wait();
  stop = true;
  perpetual.wait();
}

// C22, TestMexitSTW
GO_TEST(procs, threads_that_end_between_changes_are_not_given_a_processor) {
  const processors four(4);
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};
  sley::wait_group busy;
  for (int i = 0; i < 2; ++i) {
    busy.go([&] {
      ++running;
      while (!stop) {
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return running == 2; }));
  sley::wait_group ending;
  for (int i = 0; i < 100; ++i) {
    ending.go([] { this_goroutine::lock_os_thread(); });
    set_max_procs(4 - i % 2);
  }
  ending.wait();
  stop = true;
  busy.wait();
}

GO_TEST(procs, goroutines_and_threads_that_change_at_once_do_so_one_after_another) {
  const processors restored;
  const int each = rounds(150);
  // Every number that was set is also replaced once, but for the last: each stands for one more
  // that was set, and one more that was replaced.
  std::array<std::atomic<int>, most_procs + 1> balance{};
  const auto change = [&](std::uint64_t stream) {
    random_source random(stream);
    for (int i = 0; i < each; ++i) {
      const int next = 1 + random.index(12);
      const int old = set_max_procs(next);
      ++balance[static_cast<std::size_t>(next)];
      --balance[static_cast<std::size_t>(old)];
    }
  };
  ++balance[static_cast<std::size_t>(max_procs())];
  sley::wait_group group;
  for (std::uint64_t i = 0; i < 4; ++i) group.go([&, i] { change(i); });
  std::vector<std::thread> threads;
  group.add(2);
  for (std::uint64_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      change(i + 4);
      group.done();
    });
  }
  group.wait();
  for (auto& thread : threads) thread.join();
  --balance[static_cast<std::size_t>(max_procs())];
  for (std::size_t n = 0; n < balance.size(); ++n) EXPECT_EQ(balance[n], 0) << n;
}

TEST(procs, a_foreign_thread_changes_the_number_while_no_main_goroutine_runs) {
  const processors restored;
  for (const int n : {1, 3, 2, 5}) {
    set_max_procs(n);
    EXPECT_EQ(run([n] {
                EXPECT_EQ(max_procs(), n);
                return sley::async([] { return 4; }).get();
              }),
              4);
  }
}

// --- how many run at the same time ---------------------------------------------------------------

namespace {

// How long it takes until this number of goroutines, each of which burns its processor, have met.
std::chrono::nanoseconds time_to_meet(int count) {
  const auto start = steady_clock::now();
  std::atomic<std::int64_t> latest_ns{0};
  std::atomic<int> arrived{0};
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      ++arrived;
      while (arrived < count) {
      }
      latest_ns = std::chrono::nanoseconds(steady_clock::now() - start).count();
    });
  }
  group.wait();
  return std::chrono::nanoseconds(latest_ns);
}

// Well below a time slice, so that no preemption helps.
constexpr auto without_preemption = 5ms;

}  // namespace

// C4, TestGoroutineParallelism, with numbers that change.
GO_TEST(procs, as_many_goroutines_run_at_once_as_the_new_number_says) {
  const processors restored;
  for (const int n : {1, 4, 2, 3, 1, 2, 4}) {
    set_max_procs(n);
    auto fastest = time_to_meet(n);
    for (int i = 0; i < 50 && fastest > without_preemption; ++i) {
      fastest = std::min(fastest, time_to_meet(n));
    }
    // With more threads than CPUs, the system's own time slices come in between.
    const bool slow = sley_test::under_sanitizer || sley_test::under_chaos;
    const auto limit = n <= sley::runtime::num_cpu() ? without_preemption : 4 * without_preemption;
    EXPECT_LE(fastest, slow ? 10 * limit : limit) << n << " processors";
  }
}

GO_TEST(procs, no_more_goroutines_run_at_once_than_the_new_number_says) {
  const processors four(4);
  (void)time_to_meet(4);
  set_max_procs(1);
  auto slowest = time_to_meet(2);
  for (int i = 0; i < 20 && slowest <= without_preemption; ++i) {
    slowest = std::max(slowest, time_to_meet(2));
  }
  EXPECT_GT(slowest, without_preemption) << "two always meet at once on one processor";
}
