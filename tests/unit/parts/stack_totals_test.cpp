// Aim: each stack has one total, which keeps its number, and what there is no place for is counted
// as lost. Method: single cases, and threads that add at the same time.
#include "parts/stack_totals.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

using sley::parts::stack_total;
using sley::parts::stack_totals;

namespace {

using stack = std::vector<std::uintptr_t>;
using small = stack_totals<4>;  // one of the four is for what is lost

void add(auto& table, const stack& frames, double count, std::uint64_t amount) {
  table.add({.stack = frames, .count = count, .amount = amount});
}

stack stack_of(const stack_total& total) { return {total.stack().begin(), total.stack().end()}; }

TEST(stack_totals, a_new_table_has_lost_nothing) {
  small table;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table.read(small::lost).count, 0);
  EXPECT_EQ(table.read(small::lost).amount, 0U);
}

TEST(stack_totals, equal_stacks_have_one_total) {
  small table;
  add(table, stack{1, 2}, 1, 10);
  add(table, stack{1}, 0.5, 7);
  add(table, stack{1, 2}, 2, 20);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(stack_of(table.read(1)), (stack{1, 2}));
  EXPECT_EQ(table.read(1).count, 3);
  EXPECT_EQ(table.read(1).amount, 30U);
  EXPECT_EQ(stack_of(table.read(2)), stack{1});
  EXPECT_EQ(table.read(2).count, 0.5);
}

TEST(stack_totals, events_of_different_kinds_have_different_totals) {
  small table;
  const stack same = {1, 2};
  const std::uint32_t first = table.add({.stack = same, .amount = 10, .part = 4, .kind = 7});
  const std::uint32_t second = table.add({.stack = same, .amount = 5, .part = 5, .kind = -1});
  EXPECT_NE(first, second);
  EXPECT_EQ(table.add({.stack = same, .amount = 1, .part = 1, .kind = 7}), first);
  EXPECT_EQ(table.read(first).kind, 7);
  EXPECT_EQ(table.read(first).amount, 11U);
  EXPECT_EQ(table.read(first).part, 5U);
  EXPECT_EQ(table.read(second).kind, -1);
  EXPECT_EQ(table.read(second).count, 1);
}

TEST(stack_totals, more_of_an_event_is_no_other_event) {
  small table;
  const stack frames = {1, 2};
  const std::uint32_t number = table.add({.stack = frames, .amount = 10});
  table.add_amount(number, 90);
  EXPECT_EQ(table.read(number).count, 1);
  EXPECT_EQ(table.read(number).amount, 100U);
  EXPECT_EQ(table.read(number).part, 0U);
}

TEST(stack_totals, a_stack_may_be_empty) {
  small table;
  add(table, stack(), 1, 10);
  add(table, stack(), 1, 10);
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table.read(1).count, 2);
  EXPECT_TRUE(table.read(1).stack().empty());
}

TEST(stack_totals, deep_stacks_keep_their_innermost_frames) {
  small table;
  stack deep(stack_total::most_frames + 1, 5);
  add(table, deep, 1, 1);
  deep.back() = 6;
  add(table, deep, 1, 1);
  ASSERT_EQ(table.size(), 2U);
  EXPECT_EQ(table.read(1).stack().size(), stack_total::most_frames);
}

TEST(stack_totals, stacks_without_a_place_are_lost_and_the_others_go_on) {
  small table;
  for (int round = 0; round < 2; ++round) {
    for (std::uintptr_t i = 1; i <= 5; ++i) add(table, stack{i}, 1, i);
  }
  EXPECT_EQ(table.size(), 4U);
  for (std::uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(table.read(i).count, 2) << i;
  EXPECT_EQ(table.read(small::lost).count, 4);
  EXPECT_EQ(table.read(small::lost).amount, 18U);
  EXPECT_TRUE(table.read(small::lost).stack().empty());
}

TEST(stack_totals, threads_lose_nothing_of_each_other) {
  constexpr int threads = 4;
  constexpr std::uintptr_t stacks = 50;
  constexpr int times = 200;
  const auto table = std::make_unique<stack_totals<64>>();
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&] {
        for (int i = 0; i < times; ++i) {
          for (std::uintptr_t s = 1; s <= stacks; ++s) add(*table, stack{s, 1}, 1, s);
        }
      });
    }
  }
  ASSERT_EQ(table->size(), stacks + 1);
  for (std::uint32_t i = 1; i <= stacks; ++i) {
    const stack_total total = table->read(i);
    EXPECT_EQ(total.count, threads * times);
    EXPECT_EQ(total.amount, total.frames[0] * threads * times);
  }
}

}  // namespace
