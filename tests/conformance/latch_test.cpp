// latch and barrier: the conditions of [thread.latch] and [thread.barrier].
#include "support/harness.hpp"
#include "support/short_context.hpp"
#include "support/thread_group.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <type_traits>
#include <utility>

using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<sley::latch>);
static_assert(!std::is_copy_constructible_v<sley::barrier<>>);
static_assert(!std::is_copy_constructible_v<sley::barrier<>::arrival_token>);
static_assert(std::is_move_constructible_v<sley::barrier<>::arrival_token>);

GO_TEST(latch, opens_when_the_count_is_zero_and_stays_open) {
  sley::latch l(3);
  std::atomic<int> passed{0};
  for (int i = 0; i < 4; ++i) {
    go_until_parked([&] {
      l.wait();
      ++passed;
    });
  }
  l.count_down(2);
  EXPECT_FALSE(l.try_wait());
  let_others_run();
  EXPECT_EQ(passed, 0);
  l.arrive_and_wait();
  EXPECT_TRUE(l.try_wait());
  EXPECT_TRUE(eventually([&] { return passed == 4; }));
  l.wait();
}

// A static one is there before any code of the program runs.
constinit sley::latch static_latch(2);
constinit sley::barrier static_barrier(1);

GO_TEST(latch, may_be_made_by_the_compiler) {
  if (!static_latch.try_wait()) static_latch.count_down(2);  // else an earlier repetition has
  static_latch.wait();
  static_barrier.arrive_and_wait();
}

GO_TEST(latch, a_count_below_zero_is_an_error_that_says_so) {
  sley::latch l(1);
  try {
    l.count_down(2);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "sley::latch: counted down below zero");
  }
}

GO_TEST(latch, of_nothing_is_open) {
  sley::latch l(0);
  EXPECT_TRUE(l.try_wait());
  l.wait();
  l.count_down(0);
}

GO_TEST(latch, misuse_throws_and_changes_nothing) {
  EXPECT_THROW(sley::latch(-1), std::logic_error);
  EXPECT_THROW(sley::latch(sley::latch::max() + 1), std::logic_error);
  sley::latch l(1);
  EXPECT_THROW(l.count_down(2), std::logic_error);
  EXPECT_THROW(l.count_down(-1), std::logic_error);
  EXPECT_FALSE(l.try_wait());
  l.count_down();
}

GO_TEST(latch, may_be_destroyed_as_soon_as_all_waits_have_returned) {
  for (int i = 0; i < rounds(2000); ++i) {
    auto l = std::make_unique<sley::latch>(2);
    int done = 0;  // handed over by the latch
    sley::go([l = l.get(), &done] {
      done = 1;
      l->count_down();
    });
    l->arrive_and_wait();
    ASSERT_EQ(done, 1);
    l.reset();
  }
}

FOREIGN_TEST(latch, threads_and_goroutines_wait_for_each_other) {
  for (int i = 0; i < rounds(100); ++i) {
    sley::latch l(4);
    sley_test::thread_group threads;
    sley::wait_group group;
    std::atomic<int> arrived{0};
    const auto work = [&] {
      ++arrived;
      l.arrive_and_wait();
      EXPECT_EQ(arrived, 4);
    };
    threads.go(work);
    threads.go(work);
    group.go(work);
    group.go(work);
    group.wait();
    threads.wait();
  }
}

// In each phase all participants have done their part before any goes on, and the completion runs
// once, between the last arrival and the first departure.
template <class Group>
void phases(Group& group, int participants, int count) {
  struct counts {
    std::atomic<int> arrived{0};
    std::atomic<int> completions{0};
    int expected = 0;
  } c;
  c.expected = participants;
  auto completion = [&c]() noexcept {
    EXPECT_EQ(c.arrived, c.expected * (c.completions + 1));
    ++c.completions;
  };
  sley::barrier b(participants, completion);
  for (int p = 0; p < participants; ++p) {
    group.go([&, p] {
      for (int phase = 0; phase < count; ++phase) {
        ++c.arrived;
        if ((phase + p) % 3 == 0) {
          auto token = b.arrive();
          sley::this_goroutine::yield();
          b.wait(std::move(token));
        } else {
          b.arrive_and_wait();
        }
        EXPECT_GE(c.completions, phase + 1);
        EXPECT_LE(c.completions, phase + 2);
      }
    });
  }
  group.wait();
  EXPECT_EQ(c.completions, count);
}

GO_TEST(barrier, the_completion_runs_after_all_arrivals_and_before_any_goroutine_goes_on) {
  sley::wait_group group;
  phases(group, 8, rounds(500));
}

FOREIGN_TEST(barrier, phases_of_threads) {
  sley_test::thread_group group;
  phases(group, 4, rounds(200));
}

GO_TEST(barrier, the_completion_may_park) {
  sley::chan<void> go_on;
  auto completion = [go_on]() noexcept { go_on.receive(); };
  sley::barrier b(1, completion);
  std::atomic<bool> passed{false};
  go_until_parked([&] {
    b.arrive_and_wait();
    passed = true;
  });
  EXPECT_FALSE(passed);
  go_on.close();
  EXPECT_TRUE(eventually([&] { return passed.load(); }));
}

GO_TEST(barrier, a_dropped_participant_is_not_expected_again) {
  sley::barrier<> b(3);
  b.arrive_and_drop();
  auto token = b.arrive(2);
  b.wait(std::move(token));
  auto next = b.arrive();
  EXPECT_THROW((void)b.arrive(2), std::logic_error) << "only one is left in this phase";
  auto last = b.arrive();
  b.wait(std::move(next));
  b.wait(std::move(last));
}

GO_TEST(barrier, a_token_of_the_phase_before_does_not_wait) {
  sley::barrier<> b(1);
  auto token = b.arrive();
  b.wait(std::move(token));
}

GO_TEST(barrier, misuse_throws_and_changes_nothing) {
  EXPECT_THROW(sley::barrier<>(-1), std::logic_error);
  sley::barrier<> b(2);
  EXPECT_THROW((void)b.arrive(0), std::logic_error);
  EXPECT_THROW((void)b.arrive(3), std::logic_error);
  auto token = b.arrive(2);
  b.wait(std::move(token));
}

GO_TEST(barrier, a_context_ends_a_wait_and_the_arrival_counts) {
  for (const bool by_deadline : {false, true}) {
    sley::barrier<> b(2);
    std::atomic<bool> has_given_up = false;
    const auto [ctx, cancel] =
        by_deadline ? sley::with_timeout({}, 2ms) : sley::with_cancel(sley::context());
    sley::wait_group group;
    group.add(1);
    go_until_parked([&, c = ctx] {
      const auto token = b.arrive();
      std::error_code error;
      b.wait(token, c, error);
      EXPECT_TRUE(error);
      EXPECT_EQ(error, c.error());
      EXPECT_THROW(b.wait(token, c), std::system_error);
      has_given_up = true;
      b.wait(token, sley::context());  // until the other has arrived
      group.done();
    });
    if (!by_deadline) cancel();
    EXPECT_TRUE(eventually([&] { return has_given_up.load(); }));
    b.arrive_and_wait();
    group.wait();
    const auto token = b.arrive(2);
    b.wait(token, sley::context());  // the phase is over
  }
}

// The last arrival against the end of the context: all waiters of a phase go on, and each once.
GO_TEST(barrier, phases_go_on_while_contexts_end) {
  constexpr std::ptrdiff_t participants = 4;
  sley::barrier<> b(participants);
  sley::wait_group group;
  for (std::uint64_t g = 0; g < participants; ++g) {
    group.go([&, g] {
      sley_test::random_source random(g);
      for (int i = 0; i < rounds(500); ++i) {
        const auto token = b.arrive();
        std::error_code error;
        do {
          const sley_test::short_context ctx(random);
          b.wait(token, ctx.get(), error);
        } while (error);
      }
    });
  }
  group.wait();
}
