// Aim: a thief looks at every processor once, from any start, in more than one order. Method: all
// starts and steps for all counts. Answers C16, Go's TestStealOrder.
#include "base/visit_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

using sley::base::visit_order;

namespace {

std::vector<std::uint32_t> walk_of(const visit_order& order, std::uint32_t seed) {
  std::vector<std::uint32_t> positions;
  for (auto walk = order.start(seed); !walk.is_done(); walk.next()) {
    positions.push_back(walk.position());
  }
  return positions;
}

TEST(visit_order, every_walk_visits_each_position_once) {
  for (std::uint32_t count = 1; count <= 64; ++count) {
    visit_order order;
    order.reset(count);
    for (std::uint32_t seed = 0; seed < count * order.step_count(); ++seed) {
      const auto positions = walk_of(order, seed);
      const std::set<std::uint32_t> different(positions.begin(), positions.end());
      ASSERT_EQ(positions.size(), count);
      ASSERT_EQ(different.size(), count);
      ASSERT_LT(*different.rbegin(), count);
    }
  }
}

TEST(visit_order, three_and_more_are_walked_in_two_orders_at_least) {
  for (std::uint32_t count = 3; count <= 64; ++count) {
    visit_order order;
    order.reset(count);
    EXPECT_GE(order.step_count(), 2U) << count;
  }
}

TEST(visit_order, no_two_small_seeds_give_the_same_start_and_step) {
  for (std::uint32_t count = 3; count <= 64; ++count) {
    visit_order order;
    order.reset(count);
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t seed = 0; seed < count * order.step_count(); ++seed) {
      const auto positions = walk_of(order, seed);
      pairs.emplace(positions[0], (positions[1] + count - positions[0]) % count);
    }
    EXPECT_EQ(pairs.size(), count * order.step_count()) << count;
  }
}

TEST(visit_order, the_largest_seed_and_count_are_fine) {
  visit_order order;
  order.reset(visit_order::max_count);
  EXPECT_EQ(walk_of(order, UINT32_MAX).size(), visit_order::max_count);
}

TEST(visit_order, it_can_be_reset_to_another_count) {
  visit_order order;
  order.reset(64);
  order.reset(3);
  EXPECT_EQ(order.count(), 3U);
  EXPECT_EQ(walk_of(order, 17).size(), 3U);
}

}  // namespace
