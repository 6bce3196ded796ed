// Aim: a profile that takes some of the waits is right on average about the number and the time of
// waits of each length. Method: a fixed source of chance, and the accounts of many waits.
#include "parts/event_weight.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "base/random.hpp"

using sley::parts::weight_of_one_in;
using sley::parts::weight_of_wait;

namespace {

constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();

TEST(event_weight, a_rate_of_one_takes_each_wait_as_it_is) {
  for (const std::int64_t delay_ns : {1, 2, 1000, 1'000'000'000}) {
    const auto weight = weight_of_wait(delay_ns, 1, most);
    ASSERT_TRUE(weight) << delay_ns;
    EXPECT_EQ(weight->count, 1);
    EXPECT_EQ(weight->delay_ns, static_cast<std::uint64_t>(delay_ns));
  }
}

// The clock may not have gone on.
TEST(event_weight, a_wait_without_a_length_is_one_of_a_nanosecond) {
  const auto weight = weight_of_wait(0, 1, most);
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->count, 1);
  EXPECT_EQ(weight->delay_ns, 1U);
}

TEST(event_weight, a_wait_as_long_as_the_rate_is_always_taken) {
  EXPECT_TRUE(weight_of_wait(1000, 1000, most));
  EXPECT_EQ(weight_of_wait(1001, 1000, most)->delay_ns, 1001U);
}

TEST(event_weight, a_shorter_wait_is_taken_by_chance_and_stands_for_others) {
  constexpr std::uint32_t half = 1U << 31;
  EXPECT_FALSE(weight_of_wait(500, 1000, half));
  const auto weight = weight_of_wait(500, 1000, half - 1);
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->count, 2);
  EXPECT_EQ(weight->delay_ns, 1000U);
  EXPECT_TRUE(weight_of_wait(1, std::numeric_limits<std::int64_t>::max(), 0));
  EXPECT_FALSE(weight_of_wait(1, std::numeric_limits<std::int64_t>::max(), 1));
}

TEST(event_weight, sums_over_many_waits_are_right_for_each_length) {
  constexpr int waits = 1'000'000;
  constexpr std::int64_t rate_ns = 1000;
  sley::base::random random(1);
  for (const std::int64_t delay_ns : {10, 100, 500, 999}) {
    double count = 0;
    double delay = 0;
    for (int i = 0; i < waits; ++i) {
      if (const auto weight = weight_of_wait(delay_ns, rate_ns, random.next())) {
        count += weight->count;
        delay += static_cast<double>(weight->delay_ns);
      }
    }
    EXPECT_NEAR(count / waits, 1, 0.05) << delay_ns;
    EXPECT_NEAR(delay / waits / static_cast<double>(delay_ns), 1, 0.05) << delay_ns;
  }
}

TEST(event_weight, one_of_a_fraction_stands_for_all_of_it) {
  const auto weight = weight_of_one_in(5, 70);
  EXPECT_EQ(weight.count, 5);
  EXPECT_EQ(weight.delay_ns, 350U);
}

}  // namespace
