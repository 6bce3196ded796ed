// Aim: a thread that crosses its border sees what it must attend to, and a thread that closes the
// border or claims a call from outside has the first thread's processor to itself. Method: one
// thread for the result of each operation. Two for whether both ever think that they have the
// processor, which a plain counter shows. tests/model/border_model.cpp tries all their schedules.
#include "parts/border.hpp"
#include "platform/relax.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

using sley::parts::border;

namespace {

// Without membarrier no thread may close a border.
bool may_close() { return !sley::detail::barriers_are_symmetric; }

TEST(border, is_crossed_undisturbed_when_there_is_nothing_to_attend_to) {
  border b;
  EXPECT_FALSE(b.is_inside());
  EXPECT_TRUE(b.enter());
  EXPECT_TRUE(b.is_inside());
  b.leave();
  EXPECT_FALSE(b.is_inside());
  EXPECT_EQ(b.attention(), 0U);
  EXPECT_EQ(b.call(), 0U);
  EXPECT_EQ(b.calls(), 0U);
}

TEST(border, enter_reports_raised_flags_until_they_are_lowered) {
  border b;
  b.raise(border::preempt);
  b.raise(border::stop | border::lost);
  EXPECT_FALSE(b.enter());
  EXPECT_TRUE(b.is_inside()) << "all the same";
  EXPECT_EQ(b.wait_until_open(), border::preempt | border::stop | border::lost) << "it is open";
  EXPECT_EQ(b.lower(border::preempt | border::give), border::preempt | border::stop | border::lost);
  EXPECT_EQ(b.attention(), border::stop | border::lost);
  b.leave();
  EXPECT_FALSE(b.enter());
  b.leave();
  EXPECT_EQ(b.lower(border::stop | border::lost), border::stop | border::lost);
  EXPECT_EQ(b.lower(border::stop), 0U);
  EXPECT_TRUE(b.enter());
}

TEST(border, is_closed_for_good_only_while_the_thread_is_outside) {
  if (!may_close()) GTEST_SKIP() << "no membarrier";
  border b;
  EXPECT_TRUE(b.close());
  EXPECT_EQ(b.attention(), border::closed);
  b.open();
  EXPECT_EQ(b.attention(), 0U);
  EXPECT_TRUE(b.enter());
  EXPECT_FALSE(b.close());
  b.open();
  b.leave();
  EXPECT_TRUE(b.enter()) << "nothing has happened";
}

TEST(border, open_may_leave_a_flag_to_attend_to) {
  if (!may_close()) GTEST_SKIP() << "no membarrier";
  border b;
  b.raise(border::preempt);
  ASSERT_TRUE(b.close());
  b.open(border::lost);
  EXPECT_FALSE(b.enter());
  EXPECT_EQ(b.wait_until_open(), border::preempt | border::lost);
}

TEST(border, enter_of_a_closed_border_waits_and_sees_the_closers_writes) {
  if (!may_close()) GTEST_SKIP() << "no membarrier";
  border b;
  int value = 0;
  std::atomic<bool> is_waiting{false};
  ASSERT_TRUE(b.close());
  std::thread owner([&] {
    EXPECT_FALSE(b.enter());
    is_waiting = true;
    EXPECT_EQ(b.wait_until_open(), border::lost);
    EXPECT_EQ(value, 1);
    b.leave();
  });
  while (!is_waiting) std::this_thread::yield();
  value = 1;
  b.open(border::lost);
  owner.join();
}

TEST(border, each_call_has_a_number_of_its_own_and_is_counted) {
  border b;
  std::uint32_t before = 0;
  for (std::uint32_t i = 0; i < 5; ++i) {
    b.begin_call();
    const std::uint32_t call = b.call();
    EXPECT_EQ(call % 2, 1U);
    EXPECT_NE(call, before);
    EXPECT_EQ(b.calls(), i) << "the calls that are over";
    EXPECT_TRUE(b.end_call());
    EXPECT_EQ(b.call(), 0U);
    EXPECT_EQ(b.calls(), i + 1);
    before = call;
  }
}

TEST(border, end_call_reports_flags_raised_meanwhile) {
  border b;
  b.begin_call();
  b.raise(border::preempt);
  EXPECT_FALSE(b.end_call());
  EXPECT_EQ(b.lower(border::preempt), border::preempt);
  b.begin_call();
  EXPECT_TRUE(b.end_call());
}

TEST(border, a_call_that_was_claimed_for_nothing_goes_on_and_may_be_claimed_again) {
  border b;
  b.begin_call();
  const std::uint32_t call = b.call();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(b.claim(call));
    EXPECT_EQ(b.call(), call) << "the same call, while it is claimed";
    b.open();
    EXPECT_EQ(b.call(), call);
  }
  EXPECT_TRUE(b.end_call());
}

TEST(border, a_call_from_which_something_was_taken_says_so_at_its_end) {
  border b;
  b.begin_call();
  const std::uint32_t call = b.call();
  ASSERT_TRUE(b.claim(call));
  b.open(border::lost);
  EXPECT_TRUE(b.claim(call))
      << "it goes on; the claimer looks whether there is a processor to take";
  b.open();
  EXPECT_EQ(b.calls(), 0U);
  EXPECT_FALSE(b.end_call());
  EXPECT_EQ(b.attention(), border::lost);
  EXPECT_EQ(b.calls(), 1U);
  b.lower(border::lost);
  b.begin_call();
  EXPECT_NE(b.call(), call);
  EXPECT_TRUE(b.end_call());
}

TEST(border, a_call_that_is_over_cannot_be_claimed) {
  border b;
  b.begin_call();
  const std::uint32_t call = b.call();
  EXPECT_TRUE(b.end_call());
  EXPECT_FALSE(b.claim(call));
  b.open();
  b.begin_call();
  EXPECT_FALSE(b.claim(call)) << "this is the next one";
  b.open();
  EXPECT_TRUE(b.end_call());
}

TEST(border, end_call_enters_and_waits_for_the_claimant) {
  border b;
  int value = 0;
  std::atomic<bool> ends{false};
  b.begin_call();
  const std::uint32_t call = b.call();
  ASSERT_TRUE(b.claim(call));
  std::thread owner([&] {
    ends = true;
    EXPECT_FALSE(b.end_call());
    b.enter();
    EXPECT_EQ(b.wait_until_open(), border::lost);
    EXPECT_EQ(value, 1);
    b.leave();
  });
  while (!ends) std::this_thread::yield();
  value = 1;
  b.open(border::lost);
  owner.join();
}

// Stands for a processor: only the thread that has it counts.
struct contested {
  border b;
  std::uint64_t count = 0;  // by the thread that has the processor
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> by_owner{0};

  void count_as_owner() {
    ++count;
    by_owner.fetch_add(1, std::memory_order_relaxed);  // `count` is what shows a fault
  }
};

// None, or often longer than a membarrier takes: else an outsider hardly ever succeeds.
void pause(int i) { sley::platform::cpu_relax(i % 16 * 100); }

TEST(border, owner_and_closer_never_both_have_the_processor) {
  if (!may_close()) GTEST_SKIP() << "no membarrier";
  contested c;
  std::thread owner([&c] {
    for (int i = 0; !c.stop; ++i) {
      if (!c.b.enter() && c.b.wait_until_open() != 0) c.b.lower(border::lost);
      c.count_as_owner();
      c.b.leave();
      pause(i);  // user code
    }
  });
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; taken < 5000; ++i) {
    const bool may_take = c.b.close();
    const std::uint64_t turn = c.by_owner;
    if (may_take) {
      ++c.count;
      ++taken;
    }
    c.b.open(may_take && i % 2 == 0 ? std::uint32_t{border::lost} : 0);
    // The owner waits for the border's lock. Closed again at once, it would be taken before the
    // owner wakes, again and again.
    while (!may_take && c.by_owner == turn) std::this_thread::yield();
  }
  c.stop = true;
  owner.join();
  EXPECT_EQ(c.count, c.by_owner + taken);
}

TEST(border, owner_and_claimer_never_both_have_the_processor) {
  contested c;
  std::thread owner([&c] {
    for (int i = 0; !c.stop; ++i) {
      c.b.begin_call();
      pause(i);
      if (!c.b.end_call()) {
        c.b.enter();
        if (c.b.wait_until_open() != 0) c.b.lower(border::lost);
        c.b.leave();
      }
      c.count_as_owner();
    }
  });
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; taken < 5000; ++i) {
    const std::uint32_t call = c.b.call();
    if (call == 0) continue;
    const bool may_take = c.b.claim(call);
    if (may_take) {
      ++c.count;
      ++taken;
    }
    c.b.open(may_take && i % 2 == 0 ? std::uint32_t{border::lost} : 0);
  }
  c.stop = true;
  owner.join();
  EXPECT_EQ(c.count, c.by_owner + taken);
}

}  // namespace
