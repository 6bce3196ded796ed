// Aim: a waiter with a deadline in a wait_list is either chosen by a wake_ call or times out, never
// both and never neither, and each wake_ call that reports a choice has chosen one waiter. Method:
// single cases, and a storm whose deadlines fall among the wakes, with exact accounts.
#include "runtime/entry/enter.hpp"
#include "sync/timed_waiter.hpp"

#include "platform/decisions.hpp"

#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using sley::detail::wait_list;
using sley::sync::timed_waiter;
using sley_test::rounds;

namespace {

constexpr std::int64_t ms = 1'000'000;

bool wait_until(wait_list& list, std::int64_t deadline_ns) {
  sley::rt::enter();
  bool chosen;
  {
    timed_waiter self(deadline_ns);
    list.guard().acquire();
    chosen = self.park(list, sley::rt::wait::semaphore_acquire, nullptr);
  }
  sley::rt::leave();
  return chosen;
}

bool wait_for(wait_list& list, std::int64_t delay_ns) {
  return wait_until(list, sley::platform::now_ns() + delay_ns);
}

bool wake_one(wait_list& list) {
  sley::rt::enter();
  list.guard().acquire();
  const bool chosen = list.wake_one_and_release();
  sley::rt::leave();
  return chosen;
}

void wake_all(wait_list& list) {
  sley::rt::enter();
  list.guard().acquire();
  list.wake_all_and_release();
  sley::rt::leave();
}

GO_TEST(wait_list, a_waiter_without_a_wake_times_out_and_leaves_the_list) {
  wait_list list;
  const std::int64_t begin = sley::platform::now_ns();
  EXPECT_FALSE(wait_until(list, begin + 2 * ms));
  EXPECT_GE(sley::platform::now_ns(), begin + 2 * ms);
  EXPECT_FALSE(wait_until(list, begin)) << "that was over before";
  EXPECT_FALSE(wake_one(list));
  list.wait_until_unused();
}

GO_TEST(wait_list, a_waiter_chosen_in_time_does_not_time_out) {
  wait_list list;
  for (const std::int64_t deadline_ns : {sley::platform::now_ns() + 60'000 * ms, sley::rt::never}) {
    sley::chan<bool> result;
    sley_test::go_until_parked([&, result] { result.send(wait_until(list, deadline_ns)); });
    EXPECT_TRUE(wake_one(list));
    EXPECT_EQ(result.receive(), true);
  }
}

GO_TEST(wait_list, a_wake_passes_over_waiters_that_have_timed_out) {
  wait_list list;
  sley::chan<int> chosen(3);
  sley::chan<void> late;
  sley_test::go_until_parked_or_ended([&, late] {
    EXPECT_FALSE(wait_for(list, 2 * ms));
    late.close();
  });
  sley_test::go_until_parked([&, chosen] {
    if (wait_until(list, sley::rt::never)) chosen.send(1);
  });
  late.receive();
  EXPECT_TRUE(wake_one(list));
  EXPECT_EQ(chosen.receive(), 1);
}

// H3, BenchmarkSemTable: each list is its own, and long ones cost no more. A step for each
// waiter would make this test take minutes.
GO_TEST(wait_list, choosing_and_leaving_take_the_same_time_however_many_wait) {
  constexpr std::size_t many = 400'000;
  wait_list list;
  std::vector<sley::detail::list_waiter> waiters(many);
  sley::rt::enter();
  list.guard().acquire();
  for (auto& w : waiters) list.push(&w, false);
  for (std::size_t i = 1; i < many; i += 2) list.remove(&waiters[i]);
  std::size_t in_order = 0;
  for (std::size_t i = 0; i < many; i += 2) {
    sley::detail::chosen_waiters chosen;
    list.choose(1, chosen);
    in_order += chosen.first == &waiters[i];
  }
  const bool is_empty = list.is_empty();
  list.guard().release();
  sley::rt::leave();
  EXPECT_EQ(in_order, many / 2);
  EXPECT_TRUE(is_empty);
}

// Each round: as many chosen waiters as wakes that chose one, and all others timed out.
template <class Group>
void storm(int waiters) {
  for (int round = 0; round < rounds(100); ++round) {
    wait_list list;
    std::atomic<int> chosen{0};
    std::atomic<int> late{0};
    std::atomic<int> woken{0};
    sley_test::random_source random(static_cast<std::uint64_t>(round));
    Group group;
    for (int i = 0; i < waiters; ++i) {
      const auto delay_ns = static_cast<std::int64_t>(random.below(100'000));
      group.go([&, delay_ns] { ++(wait_for(list, delay_ns) ? chosen : late); });
    }
    for (int waker = 0; waker < 2; ++waker) {
      group.go([&, waker] {
        sley_test::random_source chance(static_cast<std::uint64_t>(waker));
        while (chosen + late < waiters) {
          if (chance.one_in(static_cast<std::uint64_t>(waiters)) && wake_one(list)) ++woken;
          sley::this_goroutine::yield();
        }
      });
    }
    group.wait();
    EXPECT_EQ(chosen, woken);
    EXPECT_EQ(chosen + late, waiters);
    list.wait_until_unused();
  }
}

GO_TEST(wait_list, deadlines_among_wakes_are_exactly_accounted_for) { storm<sley::wait_group>(40); }

FOREIGN_TEST(wait_list, deadlines_of_threads_are_exactly_accounted_for) {
  storm<sley_test::thread_group>(4);
}

// As a condition variable that is destroyed once it has notified all: a timer may still be
// about to leave the list.
GO_TEST(wait_list, the_list_may_be_destroyed_once_it_is_unused) {
  for (int round = 0; round < rounds(300); ++round) {
    auto list = std::make_unique<wait_list>();
    std::atomic<int> arrived{0};
    sley::wait_group done;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t deadline_ns = sley::platform::now_ns() + 1000 * (i + 1) + 20 * round;
      done.go([&arrived, list = list.get(), deadline_ns] {
        sley::rt::enter();
        {
          timed_waiter self(deadline_ns);
          list->guard().acquire();
          ++arrived;
          (void)self.park(*list, sley::rt::wait::semaphore_acquire, nullptr);
        }
        sley::rt::leave();
      });
    }
    while (arrived < 4) sley::this_goroutine::yield();
    wake_all(*list);
    list->wait_until_unused();
    list.reset();
    done.wait();
  }
}

}  // namespace
