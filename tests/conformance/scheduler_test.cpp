// Progress and fairness of the scheduler, as far as a program can see them: what Go's
// runtime/proc_test.go asserts and needs neither preemption nor locked threads nor a stopped world.
// Whether several goroutines run at the same time is seen by letting them wait for each other
// without calling the library.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using sley::chan;
using sley::runtime::max_procs;
using sley::runtime::num_goroutines;
using sley::runtime::read_stats;
using sley_test::eventually;
using sley_test::patience;
using sley_test::rounds;
using namespace std::chrono_literals;

// C1, TestYieldProgress (free)
GO_TEST(scheduler, a_goroutine_that_only_yields_lets_others_send_to_it) {
  chan<void> c;
  chan<void> acknowledged;
  std::atomic<int> yields{0};
  sley::go([&, c, acknowledged] {
    while (sley::select(sley::on_receive(c), sley::otherwise()) == 1) {
      ++yields;
      sley::this_goroutine::yield();
    }
    acknowledged.send();
  });
  EXPECT_TRUE(eventually([&] { return yields > 100; }));
  c.send();
  acknowledged.receive();
}

GO_TEST(scheduler, yielding_goroutines_all_advance) {
  constexpr int goroutines = 20;
  constexpr int laps = 200;
  std::vector<std::atomic<int>> lap(goroutines);
  sley::wait_group group;
  for (auto& mine : lap) {
    group.go([&mine] {
      for (int i = 0; i < laps; ++i) {
        ++mine;
        sley::this_goroutine::yield();
      }
    });
  }
  group.wait();
  for (const auto& mine : lap) EXPECT_EQ(mine, laps);
}

namespace {

// Each of `count` goroutines waits three times for its turn, burning its processor.
void take_turns_without_calls(unsigned count) {
  std::atomic<unsigned> turn{0};
  sley::wait_group group;
  for (unsigned p = 0; p < count; ++p) {
    group.go([&turn, p, count] {
      for (unsigned i = 0; i < 3; ++i) {
        while (turn.load() != count * i + p) {
        }
        turn = count * i + p + 1;
      }
    });
  }
  group.wait();
}

}  // namespace

// C4, TestGoroutineParallelism
GO_TEST(scheduler, as_many_goroutines_run_at_once_as_there_are_processors) {
  const auto processors = static_cast<unsigned>(max_procs());
  for (int i = 0; i < 5; ++i) take_turns_without_calls(processors);
}

namespace {

// Waits three times for its turn, as number p of `count`; starts the next. It burns its processor,
// though not the CPU, of which there may be fewer.
void start_and_take_turns(std::atomic<unsigned>& turn, unsigned p, unsigned count,
                          const chan<void>& done) {
  if (p + 1 < count) {
    sley::go([&turn, p, count, done] { start_and_take_turns(turn, p + 1, count, done); });
  }
  for (unsigned i = 0; i < 3; ++i) {
    while (turn.load() != count * i + p) std::this_thread::yield();
    turn = count * i + p + 1;
  }
  done.send();
}

// Right after a load that makes threads go to sleep.
void expect_started_goroutines_run_at_once(unsigned count) {
  sley::wait_group load;
  for (unsigned p = 0; p < count; ++p) {
    load.go([] {
      volatile unsigned x = 0;
      for (unsigned i = 0; i < 200000; ++i) x = x + i;
    });
  }
  load.wait();
  std::atomic<unsigned> turn{0};
  const chan<void> done(count);
  sley::go([&turn, count, done] { start_and_take_turns(turn, 0, count, done); });
  for (unsigned p = 0; p < count; ++p) done.receive();
}

}  // namespace

// C5, TestGoroutineParallelism2 without its listener: the same, each started by the one before,
// right after a load that makes threads go to sleep.
GO_TEST(scheduler, goroutines_started_by_each_other_after_a_load_run_at_once) {
  for (int round = 0; round < 5; ++round) {
    expect_started_goroutines_run_at_once(static_cast<unsigned>(max_procs()));
  }
}

// Between two rounds all are idle, and one thread waits in the poller.
CHILD_MAIN(takes_turns_beside_a_listener) {
  return sley::run([] {
    sley::net::tcp_listener listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    const chan<std::error_code> ended(1);
    sley_test::go_until_parked([&listener, ended] {
      std::error_code error;
      (void)listener.accept(error);
      ended.send(error);
    });
    for (int round = 0; round < 5; ++round) {
      expect_started_goroutines_run_at_once(static_cast<unsigned>(max_procs()));
      sley::this_goroutine::sleep_for(1ms);
    }
    listener.close();
    return ended.receive() == std::make_error_code(std::errc::operation_canceled) ? 7 : 4;
  });
}

// C5 with the listener: the thread in the poller is had back for work. As in Go nothing stops a
// goroutine that computes: if there is no processor for one of them, it hangs.
TEST(scheduler, goroutines_started_by_each_other_beside_a_listener_run_at_once) {
  const auto child =
      sley_test::run_child("takes_turns_beside_a_listener", {{"SLEYDEBUG", "asyncpreemptoff=1"}});
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

// C15, TestSchedLocalQueueEmpty, as it shows outside: a queue with a goroutine in it never looks
// empty to all the others, be it in the ring or in the slot for the next one. Otherwise a goroutine
// waits behind one that never calls the library again, while a processor is idle.
GO_TEST(scheduler, a_goroutine_does_not_wait_behind_a_busy_one_while_a_processor_is_idle) {
  if (max_procs() == 1) GTEST_SKIP() << "needs two processors";
  const int tries = rounds(2000);
  for (int i = 0; i < tries; ++i) {
    std::atomic<int> arrived{0};
    const int started = 1 + i % 2;
    for (int n = 0; n < started; ++n) sley::go([&arrived] { ++arrived; });
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (arrived.load() != started) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "in try " << i;
    }
  }
}

// C15, the other side: a goroutine made ready (not started) by a busy one.
GO_TEST(scheduler, a_woken_goroutine_does_not_wait_behind_a_busy_one) {
  if (max_procs() == 1) GTEST_SKIP() << "needs two processors";
  const int tries = rounds(2000);
  chan<void> wake;
  std::atomic<int> woken{0};
  sley::go([&, wake] {
    while (wake.receive()) ++woken;
  });
  for (int i = 0; i < tries; ++i) {
    wake.send();
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (woken.load() != i + 1) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "in try " << i;
    }
  }
  wake.close();
}

// C12, TestAfterFuncStarvation (with one processor in one of this program's runs)
GO_TEST(scheduler, a_pair_exchanging_values_for_ever_does_not_starve_a_timer) {
  chan<int> there(1);
  chan<int> back(1);
  std::atomic<bool> stop{false};
  sley::wait_group group;
  group.go([&, there, back] {
    while (!stop) {
      there.send(1);
      back.receive();
    }
    there.close();
  });
  group.go([there, back] {
    while (there.receive()) back.send(1);
  });
  const sley::timer timer = sley::after_func(1us, [&stop] { stop = true; });
  group.wait();
  EXPECT_TRUE(stop);
}

// C12 for a goroutine that sleeps
GO_TEST(scheduler, yielding_goroutines_do_not_starve_a_sleeper) {
  std::atomic<bool> stop{false};
  sley::wait_group group;
  for (int i = 0; i < 4; ++i) {
    group.go([&stop] {
      while (!stop) sley::this_goroutine::yield();
    });
  }
  sley::this_goroutine::sleep_for(5ms);
  stop = true;
  group.wait();
}

CHILD_MAIN(counts_only_main) {
  return sley::run([] { return static_cast<int>(num_goroutines()) + 10; });
}

// C17, TestNumGoroutine
TEST(scheduler, a_program_with_only_main_has_one_goroutine) {
  const auto child = sley_test::run_child("counts_only_main");
  EXPECT_EQ(child.status, 11) << child;
}

// C17: dead ones that are kept for reuse do not count.
GO_TEST(scheduler, the_number_of_goroutines_follows_starts_and_ends) {
  const std::size_t before = num_goroutines();
  for (int round = 0; round < 10; ++round) {
    chan<void> release;
    for (int i = 0; i < 100; ++i) sley::go([release] { release.receive(); });
    EXPECT_EQ(num_goroutines(), before + 100);
    release.close();
    EXPECT_TRUE(eventually([&] { return num_goroutines() == before; })) << num_goroutines();
  }
}

CHILD_MAIN(works_and_prints_processors) {
  const int status = sley::run([] {
    sley::wait_group group;
    std::atomic<int> sum{0};
    for (int i = 0; i < 1000; ++i) {
      group.go([&sum] {
        sley::this_goroutine::yield();
        ++sum;
      });
    }
    group.wait();
    chan<int> c;
    sley::go([c] { c.send(1); });
    return sum == 1000 && c.receive() == 1 ? 7 : 3;
  });
  std::printf("processors %d of %d", max_procs(), sley::runtime::num_cpu());
  return status;
}

// C18, TestBigGOMAXPROCS
TEST(scheduler, starts_with_the_largest_number_of_processors) {
  const auto child =
      sley_test::run_child("works_and_prints_processors", {{"SLEY_MAXPROCS", "256"}});
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.out.rfind("processors 256 ", 0), 0u) << child;
  EXPECT_EQ(child.err, "") << child;
}

TEST(scheduler, a_setting_that_is_no_sane_number_is_one_line_on_stderr_and_the_default) {
  const auto normal = sley_test::run_child("works_and_prints_processors");
  for (const char* name : {"SLEY_MAXPROCS", "SLEY_STACK_SIZE"}) {
    for (const char* value : {"abc", "-3", "0", "12x", "99999999999999999999999", ""}) {
      const auto child = sley_test::run_child("works_and_prints_processors", {{name, value}});
      EXPECT_EQ(child.status, 7) << name << "=" << value << "\n" << child;
      if (std::string(value).empty())
        continue;  // as good as unset, or a wrong number: either will do
      EXPECT_EQ(sley_test::occurrences(child.err, name), 1) << name << "=" << value << "\n"
                                                            << child;
      EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << name << "=" << value << "\n"
                                                            << child;
      if (std::string(name) == "SLEY_STACK_SIZE") {
        EXPECT_EQ(child.out, normal.out);
      }
    }
  }
}

// C18: no power of two is taken for another number, and no sign or blank for none.
TEST(scheduler, more_processors_than_there_can_be_are_one_clear_line_and_the_default) {
  const auto normal =
      sley_test::run_child("works_and_prints_processors", {{"SLEY_MAXPROCS", "abc"}});
  for (const std::string value :
       {"257", "1024", "65537", "4294967297", "1e2", "0x10", "+4", " 4", "4K", "-4294967295"}) {
    const auto child =
        sley_test::run_child("works_and_prints_processors", {{"SLEY_MAXPROCS", value}});
    EXPECT_EQ(child.status, 7) << value << "\n" << child;
    EXPECT_EQ(child.err,
              "sley: SLEY_MAXPROCS=" + value + " ignored: expected a number from 1 to 256\n")
        << child;
    EXPECT_EQ(child.out, normal.out) << value;
  }
}

TEST(scheduler, without_a_setting_there_is_a_processor_for_each_cpu) {
  const auto child =
      sley_test::run_child("works_and_prints_processors", {{"SLEY_MAXPROCS", "abc"}});
  const auto cpus = child.out.substr(child.out.rfind(' ') + 1);
  EXPECT_EQ(child.out, "processors " + cpus + " of " + cpus) << child;
}

// C20, TestSchedMetrics
GO_TEST(scheduler, parked_goroutines_are_counted) {
  const auto before = read_stats();
  chan<void> release;
  for (int i = 0; i < 1000; ++i) sley::go([release] { release.receive(); });
  EXPECT_TRUE(eventually([&] { return read_stats().parks >= before.parks + 1000; }));
  const auto during = read_stats();
  EXPECT_EQ(during.goroutines, before.goroutines + 1000);
  EXPECT_GE(during.spawned, before.spawned + 1000);
  EXPECT_EQ(during.procs, static_cast<std::uint64_t>(max_procs()));
  EXPECT_LE(during.global_queue + during.local_queues, 5u);
  EXPECT_GE(during.threads, 1u);
  EXPECT_LE(during.idle_threads, during.threads);
  EXPECT_LE(during.spinning_threads, during.threads);
  EXPECT_LE(during.idle_procs, during.procs);
  release.close();
  EXPECT_TRUE(eventually([&] { return read_stats().goroutines == before.goroutines; }));
}

// C20: all processors busy.
GO_TEST(scheduler, busy_processors_are_not_idle_ones) {
  const int busy = max_procs() - 1;
  std::atomic<bool> stop{false};
  std::atomic<int> running{0};
  sley::wait_group group;
  for (int i = 0; i < busy; ++i) {
    group.go([&] {
      ++running;
      while (!stop) {
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return running == busy; }));
  EXPECT_TRUE(eventually([] { return read_stats().idle_procs == 0; }));
  EXPECT_TRUE(eventually([] { return read_stats().spinning_threads == 0; }));
  stop = true;
  group.wait();
}

// C20: one processor with nine runnable goroutines. A preemption may let some of them run, hence
// the tries.
GO_TEST(scheduler, runnable_goroutines_are_counted_in_the_queues) {
  if (max_procs() != 1) GTEST_SKIP() << "for one processor only";
  bool seen = false;
  for (int attempt = 0; attempt < 10 && !seen; ++attempt) {
    sley::wait_group group;
    for (int i = 0; i < 9; ++i) group.go([] {});
    const auto stats = read_stats();
    seen = stats.global_queue + stats.local_queues == 9;
    group.wait();
  }
  EXPECT_TRUE(seen);
}

// C20: with all others asleep, the other processors become idle, and with them their threads.
GO_TEST(scheduler, processors_without_work_become_idle) {
  const auto others = static_cast<std::uint64_t>(max_procs() - 1);
  sley::this_goroutine::sleep_for(1ms);
  EXPECT_TRUE(eventually([&] {
    // Yielding all the time could keep others awake.
    sley::this_goroutine::sleep_for(1ms);
    return read_stats().idle_procs == others;
  }));
}

GO_TEST(scheduler, parks_count_waits_and_not_yields) {
  sley_test::let_others_run();
  const auto before = read_stats().parks;
  for (int i = 0; i < 1000; ++i) sley::this_goroutine::yield();
  EXPECT_LE(read_stats().parks, before + 10);
}

// The queue of a processor has room for 256: more of them at once overflow into the global one.
GO_TEST(scheduler, more_goroutines_than_a_local_queue_holds_all_run) {
  for (const int count : {255, 256, 257, 258, 512, 513, 10000}) {
    std::atomic<int> ran{0};
    sley::wait_group group;
    for (int i = 0; i < count; ++i) group.go([&ran] { ++ran; });
    group.wait();
    EXPECT_EQ(ran, count);
  }
}
