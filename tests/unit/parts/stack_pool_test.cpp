// Aim: stacks have the promised size, faults below them, and tops that do not compete for the same
// cache sets; free ones come back warmest first, and without memory after a while. Method: taking,
// touching, giving back; death tests for the guard.
#include "parts/stack_pool.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <set>
#include <thread>
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

// Whether the kernel faults when it reads there: as a path.
bool faults(const char* address) { return access(address, F_OK) != 0 && errno == EFAULT; }

// Some get their guards early, when others are made.
TEST_F(stack_pool_test, every_stack_has_its_guard_whichever_thread_made_it) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t each = 100;
  std::vector<stack*> all(threads * each);
  std::vector<std::thread> makers;
  for (std::size_t t = 0; t < threads; ++t) {
    makers.emplace_back([&, t] {
      for (std::size_t i = 0; i < each; ++i) {
        stack* s = pool.take();
        all[t * each + i] = s;
        const bool has_guard = faults(s->low - 1) && faults(s->low - stack_pool::guard_bytes);
        EXPECT_TRUE(has_guard) << t << ' ' << i;
        *s->low = 1;
      }
    });
  }
  for (std::thread& maker : makers) maker.join();
  EXPECT_EQ(std::set<stack*>(all.begin(), all.end()).size(), all.size());
  for (const stack* s : all) {
    EXPECT_EQ(*s->low, 1) << "no guard was installed over it";
    EXPECT_TRUE(faults(s->low - 1)) << "and none was taken away";
  }
  EXPECT_EQ(pool.made(), all.size());
  for (stack* s : all) pool.give(s);
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

// Neighbours by their place: which place is taken next depends on the guards that the kernel has
// installed early.
TEST_F(stack_pool_test, tops_of_neighbours_lie_on_different_cache_lines_of_a_page) {
  constexpr std::size_t arena_stacks = 64;  // these are all neighbours
  std::set<std::uintptr_t> tops;
  for (std::size_t i = 0; i < arena_stacks; ++i) {
    const stack* s = pool.take();
    ASSERT_NE(s, nullptr);
    tops.insert(reinterpret_cast<std::uintptr_t>(s->top));
  }
  std::set<std::uintptr_t> lines;
  for (const std::uintptr_t top : std::views::take(tops, 16)) lines.insert(top % 4096 / 64);
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

TEST_F(stack_pool_test, a_sized_stack_has_the_requested_room_and_goes_back_to_the_system) {
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

// Where a stack lies, which is fixed when it is made.
struct place {
  const char* low;
  const char* top;
  auto operator<=>(const place&) const = default;
};

std::vector<stack*> take_many(stack_pool& pool, std::size_t count) {
  std::vector<stack*> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(pool.take());
  return all;
}

void give_all(stack_pool& pool, const std::vector<stack*>& all) {
  for (stack* s : all) pool.give(s);
}

std::set<place> places_of(const std::vector<stack*>& all) {
  std::set<place> places;
  for (const stack* s : all) places.insert({s->low, s->top});
  return places;
}

// Of three arenas, all of them or some.
TEST_F(stack_pool_test, cold_stacks_come_back_in_the_same_places_with_their_memory_new) {
  constexpr std::size_t count = 130;
  auto all = take_many(pool, count);
  const auto places = places_of(all);
  for (const std::size_t given : {count, std::size_t{70}}) {
    for (stack* s : all) std::memset(s->low, 1, s->usable_bytes());
    for (std::size_t i = 0; i < given; ++i) {
      pool.give(all.back());
      all.pop_back();
    }
    pool.trim(count);  // from here on they count as not needed
    EXPECT_TRUE(pool.trim(count));
    EXPECT_EQ(pool.take_batch(1), nullptr) << "all are cold";
    for (std::size_t i = 0; i < given; ++i) {
      stack* s = pool.take();
      ASSERT_NE(s, nullptr);
      all.push_back(s);
      EXPECT_EQ(s->low[0], 0) << "the memory was given back";
      EXPECT_EQ(s->map_bytes, 0U);
      std::memset(s->low, 1, s->usable_bytes());
    }
    EXPECT_EQ(places_of(all), places);
    EXPECT_EQ(pool.made(), count);
  }
  give_all(pool, all);
}

TEST_F(stack_pool_death_test, the_guards_of_cold_stacks_and_of_their_successors_hold) {
  stack* s = pool.take();
  char* low = s->low;
  pool.give(s);
  pool.trim(1);
  ASSERT_TRUE(pool.trim(1));
  volatile char* below = low - 1;
  EXPECT_DEATH(*below = 1, "");
  s = pool.take();
  ASSERT_EQ(s->low, low);
  EXPECT_TRUE(stack_pool::is_in_guard(*s, low - 1));
  EXPECT_DEATH(*below = 1, "");
  volatile char* lowest = low - stack_pool::guard_bytes;
  EXPECT_DEATH(*lowest = 1, "");
}

TEST_F(stack_pool_test, trimming_leaves_stacks_used_since_the_last_time_alone) {
  const auto all = take_many(pool, 10);
  EXPECT_TRUE(pool.trim(100)) << "none is free";
  give_all(pool, all);
  EXPECT_FALSE(pool.trim(100)) << "all were needed";
  give_all(pool, take_many(pool, 6));
  EXPECT_FALSE(pool.trim(100)) << "six of them were needed";
  for (int i = 0; i < 6; ++i) EXPECT_NE(pool.take_batch(1), nullptr);
  EXPECT_EQ(pool.take_batch(1), nullptr) << "four have gone";
  EXPECT_EQ(pool.made(), 10U);
}

TEST_F(stack_pool_test, trimming_takes_no_more_at_once_than_it_may) {
  give_all(pool, take_many(pool, 10));
  pool.trim(100);
  EXPECT_FALSE(pool.trim(4));
  EXPECT_FALSE(pool.trim(4));
  EXPECT_TRUE(pool.trim(4));
  EXPECT_EQ(pool.take_batch(1), nullptr);
}

TEST_F(stack_pool_test, warm_stacks_are_taken_before_cold_ones_and_cold_before_new_ones) {
  const auto first = take_many(pool, 3);
  const auto places = places_of(first);
  give_all(pool, first);
  pool.trim(100);
  ASSERT_TRUE(pool.trim(100));
  stack* warm = pool.take();
  pool.give(warm);
  EXPECT_EQ(pool.take(), warm);
  pool.take();
  pool.take();
  EXPECT_EQ(pool.made(), 3U);
  const stack* fresh = pool.take();
  EXPECT_FALSE(places.contains({fresh->low, fresh->top}));
  EXPECT_EQ(pool.made(), 4U);
}

TEST_F(stack_pool_test, stacks_that_were_needed_just_now_are_given_back_as_well) {
  give_all(pool, take_many(pool, 10));
  pool.give_back(4);
  for (int i = 0; i < 6; ++i) EXPECT_NE(pool.take_batch(1), nullptr);
  EXPECT_EQ(pool.take_batch(1), nullptr);
  give_all(pool, take_many(pool, 10));
  pool.give_back(SIZE_MAX);
  EXPECT_EQ(pool.take_batch(1), nullptr);
}

TEST_F(stack_pool_test, the_figures_are_of_address_space_which_trimming_keeps) {
  EXPECT_EQ(pool.made(), 0U);
  EXPECT_EQ(pool.reserved_bytes(), 0U);
  give_all(pool, take_many(pool, 65));
  const std::uint64_t reserved = pool.reserved_bytes();
  EXPECT_GE(reserved, 65 * (default_bytes + stack_pool::guard_bytes));
  pool.trim(100);
  EXPECT_TRUE(pool.trim(100));
  EXPECT_EQ(pool.reserved_bytes(), reserved);
  EXPECT_EQ(pool.made(), 65U);
}

TEST_F(stack_pool_test, trimming_beside_take_and_give_loses_no_stack) {
  constexpr std::size_t each = 40;
  std::atomic<int> running{2};
  std::vector<std::thread> users;
  for (int u = 0; u < 2; ++u) {
    users.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        const auto mine = take_many(pool, each);
        for (stack* s : mine) *s->low = 1;
        give_all(pool, mine);
      }
      --running;
    });
  }
  while (running > 0) pool.trim(8);
  for (std::thread& user : users) user.join();
  EXPECT_LE(pool.made(), 2 * each);
  const auto all = take_many(pool, 2 * each);
  EXPECT_EQ(places_of(all).size(), 2 * each);
  EXPECT_EQ(pool.made(), 2 * each) << "all that were made were there";
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
