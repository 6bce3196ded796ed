// Aim: where there are not enough CPUs for the processors, some are kept in reserve, and given back
// as soon as work waits for one, or there are CPUs again. Method: the process has one CPU and two
// or more processors, so that its own threads wait for each other; goroutines send bytes to and
// fro, each of which takes microseconds.
#include "support/affinity.hpp"
#include "support/harness.hpp"

#include <sley/os.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

using namespace std::chrono_literals;
using sley::runtime::read_stats;
using sley_test::affinity;
using sley_test::first_of;
using sley_test::set_affinity;

namespace {

constexpr int pairs = 32;

// Processors on one CPU, until this is destroyed.
class crowded_cpus {
 public:
  explicit crowded_cpus(int procs = 2) {
    sley::runtime::set_max_procs(procs);
    set_affinity(first_of(before_));
  }
  ~crowded_cpus() {
    make_room();
    sley::runtime::set_max_procs(procs_before_);
  }
  crowded_cpus(const crowded_cpus&) = delete;
  crowded_cpus& operator=(const crowded_cpus&) = delete;

  void make_room() const { set_affinity(before_); }
  bool can_make_room() const { return CPU_COUNT(&before_) > 1; }

 private:
  const cpu_set_t before_ = affinity();
  const int procs_before_ = sley::runtime::max_procs();
};

void answer(const sley::os::pipe_ends& from, const sley::os::pipe_ends& to) {
  std::byte byte[1];
  while (from.reader.read_some(byte) == 1) to.writer.write_all(byte);
}

void ask(sley::os::pipe_ends& to, const sley::os::pipe_ends& from, const std::atomic<bool>& ends) {
  std::byte byte[1] = {};
  while (!ends) {
    to.writer.write_all(byte);
    EXPECT_EQ(from.reader.read_some(byte), 1U);
  }
  to.writer.close();
}

// Goroutines that run briefly and wait for each other in the kernel, until this is destroyed.
class chatter {
 public:
  chatter() {
    for (int i = 0; i < pairs; ++i) {
      group_.go([this] {
        sley::os::pipe_ends there = sley::os::pipe();
        const sley::os::pipe_ends back = sley::os::pipe();
        sley::wait_group other;
        other.go([&] { answer(there, back); });
        ask(there, back, ends_);
        other.wait();
      });
    }
  }
  ~chatter() {
    ends_ = true;
    group_.wait();
  }
  chatter(const chatter&) = delete;
  chatter& operator=(const chatter&) = delete;

 private:
  std::atomic<bool> ends_{false};
  sley::wait_group group_;
};

// Looks seldom, because the goroutine that looks is itself one of the running ones.
template <class Condition>
bool eventually_reserve(Condition is_right) {
  const auto end = std::chrono::steady_clock::now() + sley_test::patience;
  while (!is_right(read_stats().reserve_procs)) {
    if (std::chrono::steady_clock::now() > end) return false;
    sley::this_goroutine::sleep_for(1ms);
  }
  return true;
}

bool eventually_in_reserve(std::uint64_t procs) {
  return eventually_reserve([procs](std::uint64_t reserve) { return reserve >= procs; });
}

bool eventually_none_in_reserve() {
  return eventually_reserve([](std::uint64_t reserve) { return reserve == 0; });
}

}  // namespace

GO_TEST(reserve, is_kept_while_machines_wait_for_cpus_and_released_when_all_are_idle) {
  const crowded_cpus cpus;
  {
    const chatter talk;
    EXPECT_TRUE(eventually_in_reserve(1));
  }
  EXPECT_TRUE(eventually_none_in_reserve());
}

// A thread that does nothing for a millisecond because it has no CPU is no reason to release it.
GO_TEST(reserve, comes_to_hold_all_processors_for_which_there_is_no_cpu) {
  const crowded_cpus cpus(8);
  const chatter talk;
  EXPECT_TRUE(eventually_in_reserve(7));
}

GO_TEST(reserve, is_released_when_there_are_cpus_again) {
  const crowded_cpus cpus;
  if (!cpus.can_make_room()) GTEST_SKIP() << "there is one CPU";
  const chatter talk;
  EXPECT_TRUE(eventually_in_reserve(1));
  cpus.make_room();
  EXPECT_TRUE(eventually_none_in_reserve());
}

// They could not go on without the other processor, but for the end of the slice.
GO_TEST(reserve, goroutines_do_not_wait_for_one_that_computes) {
  const crowded_cpus cpus;
  const chatter talk;
  for (int i = 0; i < sley_test::rounds(10); ++i) {
    EXPECT_TRUE(eventually_in_reserve(1));
    std::atomic<int> turn{0};
    sley::wait_group both;
    for (int mine : {0, 1}) {
      both.go([&turn, mine] {
        for (int j = 0; j < 100; ++j) {
          while (turn % 2 != mine) std::this_thread::yield();
          ++turn;
        }
      });
    }
    both.wait();
  }
}

GO_TEST(reserve, timers_and_sleepers_do_not_wait) {
  const crowded_cpus cpus;
  const chatter talk;
  EXPECT_TRUE(eventually_in_reserve(1));
  sley::ticker ticks(1ms);
  for (int i = 0; i < sley_test::rounds(200); ++i) {
    EXPECT_TRUE(ticks.channel().receive().has_value());
    sley::this_goroutine::sleep_for(100us);
  }
}

GO_TEST(reserve, the_number_of_processors_may_change_meanwhile) {
  const crowded_cpus cpus;
  const chatter talk;
  for (const int procs : {1, 3, 2, 8, 2}) {
    EXPECT_TRUE(sley::runtime::max_procs() == 1 || eventually_in_reserve(1));
    sley::runtime::set_max_procs(procs);
    EXPECT_LT(read_stats().reserve_procs, static_cast<std::uint64_t>(procs));
  }
}
