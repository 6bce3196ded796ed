// Aim: stacks have the promised size, faults below them, and tops that do not compete for the same
// cache sets; free ones come back warmest first. Method: taking, touching, giving back; death tests
// for the guard.
#include "parts/stack_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "platform/os.hpp"

using sley::parts::stack;
using sley::parts::stack_pool;

namespace {

constexpr std::size_t default_bytes = 64 * 1024;

class stack_pool_test : public testing::Test {
 protected:
  stack_pool_test() { pool.start(default_bytes); }
  stack_pool pool;
};

using stack_pool_death_test = stack_pool_test;

TEST_F(stack_pool_test, a_stack_has_its_size_and_can_be_written_from_end_to_end) {
  stack* s = pool.take();
  ASSERT_NE(s, nullptr);
  EXPECT_GE(s->usable_bytes(), default_bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s->top) % 16, 0U);
  std::memset(s->low, 1, s->usable_bytes());
  EXPECT_EQ(s->map_bytes, 0U) << "the record above the top is not part of it";
  pool.give(s);
}

TEST_F(stack_pool_death_test, every_page_of_the_guard_faults) {
  stack* s = pool.take();
  ASSERT_NE(s, nullptr);
  volatile char* low = s->low;
  low[0] = 1;
  EXPECT_DEATH(low[-1] = 1, "");
  EXPECT_DEATH(low[-static_cast<std::ptrdiff_t>(stack_pool::guard_bytes)] = 1, "");
}

TEST_F(stack_pool_death_test, the_guard_of_a_sized_stack_faults_too) {
  stack* s = pool.take_sized(stack_pool::min_bytes);
  ASSERT_NE(s, nullptr);
  volatile char* low = s->low;
  EXPECT_DEATH(low[-1] = 1, "");
}

TEST_F(stack_pool_test, addresses_in_the_guard_are_known) {
  const stack* s = pool.take();
  ASSERT_NE(s, nullptr);
  EXPECT_TRUE(stack_pool::is_in_guard(*s, s->low - 1));
  EXPECT_TRUE(stack_pool::is_in_guard(*s, s->low - stack_pool::guard_bytes));
  EXPECT_FALSE(stack_pool::is_in_guard(*s, s->low));
  EXPECT_FALSE(stack_pool::is_in_guard(*s, s->low - stack_pool::guard_bytes - 1));
}

TEST_F(stack_pool_test, tops_of_neighbours_lie_on_different_cache_lines_of_a_page) {
  std::set<std::uintptr_t> lines;
  for (int i = 0; i < 16; ++i) {
    const stack* s = pool.take();
    ASSERT_NE(s, nullptr);
    lines.insert(reinterpret_cast<std::uintptr_t>(s->top) % 4096 / 64);
  }
  EXPECT_EQ(lines.size(), 16U);
}

TEST_F(stack_pool_test, the_distance_between_stacks_is_no_power_of_two) {
  const stack* a = pool.take();
  const stack* b = pool.take();
  const auto distance = static_cast<std::size_t>(b->low - a->low);
  EXPECT_NE(distance & (distance - 1), 0U);
}

TEST_F(stack_pool_test, the_last_given_is_the_first_taken) {
  stack* a = pool.take();
  stack* b = pool.take();
  pool.give(a);
  pool.give(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(pool.take(), a);
}

TEST_F(stack_pool_test, a_batch_is_the_newest_free_stacks_and_perhaps_none) {
  EXPECT_EQ(pool.take_batch(4), nullptr) << "a batch makes no new stacks";
  std::vector<stack*> all;
  for (int i = 0; i < 6; ++i) all.push_back(pool.take());
  for (stack* s : all) pool.give(s);
  const stack* s = pool.take_batch(4);
  for (std::size_t i = 0; i < 4; ++i, s = s->next) ASSERT_EQ(s, all[5 - i]);
  EXPECT_EQ(s, nullptr);
  s = pool.take_batch(4);
  ASSERT_EQ(s, all[1]);
  ASSERT_EQ(s->next, all[0]);
  EXPECT_EQ(s->next->next, nullptr);
  EXPECT_EQ(pool.take_batch(4), nullptr);
}

TEST_F(stack_pool_test, a_list_is_given_as_it_is) {
  stack* a = pool.take();
  stack* b = pool.take();
  a->next = b;
  b->next = nullptr;
  pool.give_list(a);
  pool.give_list(nullptr);
  EXPECT_EQ(pool.take(), a);
  EXPECT_EQ(pool.take(), b);
}

TEST_F(stack_pool_test, a_sized_stack_has_room_for_what_was_asked_and_goes_back_to_the_system) {
  const std::uint64_t reserved = pool.reserved_bytes();
  for (const std::size_t bytes :
       {stack_pool::min_bytes, std::size_t{100'001}, std::size_t{8} << 20}) {
    stack* s = pool.take_sized(bytes);
    ASSERT_NE(s, nullptr);
    EXPECT_GE(s->usable_bytes(), bytes);
    EXPECT_NE(s->map_bytes, 0U);
    std::memset(s->low, 1, s->usable_bytes());
    EXPECT_EQ(pool.made(), 1U);
    EXPECT_EQ(pool.reserved_bytes(), reserved + s->map_bytes);
    pool.give(s);
    EXPECT_EQ(pool.made(), 0U);
    EXPECT_EQ(pool.reserved_bytes(), reserved);
  }
}

TEST_F(stack_pool_test, stacks_that_are_used_again_are_not_made_again) {
  for (int round = 0; round < 3; ++round) {
    std::vector<stack*> all;
    for (int i = 0; i < 100; ++i) all.push_back(pool.take());
    EXPECT_EQ(std::set<stack*>(all.begin(), all.end()).size(), 100U);
    for (stack* s : all) pool.give(s);
  }
  EXPECT_EQ(pool.made(), 100U);
}

TEST_F(stack_pool_test, no_address_space_is_null_and_not_the_end) {
  EXPECT_NE(pool.take(), nullptr);
  stack_pool endless;
  endless.start(std::size_t{1} << 46);
  EXPECT_EQ(endless.take(), nullptr);
  EXPECT_EQ(endless.made(), 0U);
}

TEST_F(stack_pool_death_test, a_size_out_of_range_is_a_broken_invariant) {
  EXPECT_DEATH(pool.take_sized(stack_pool::min_bytes - 1), "size of a stack");
  EXPECT_DEATH(pool.take_sized(stack_pool::max_bytes + 1), "size of a stack");
}

}  // namespace
