// parts::time_histogram: each time is in the range that it belongs to.
#include "parts/time_histogram.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

using sley::parts::time_histogram;

namespace {

// The range in which the only time is; `ranges` if there is none.
std::size_t range_of(std::int64_t ns) {
  time_histogram h;
  h.add(ns);
  std::size_t found = time_histogram::ranges;
  for (std::size_t i = 0; i < time_histogram::ranges; ++i) {
    if (h.count(i) == 0) continue;
    EXPECT_EQ(h.count(i), 1);
    EXPECT_EQ(found, time_histogram::ranges) << "it is in one range only";
    found = i;
  }
  return found;
}

}  // namespace

TEST(time_histogram, goes_from_100_ns_to_10_s) {
  constexpr auto& bounds = time_histogram::bounds_ns;
  EXPECT_EQ(bounds.front(), 100);
  EXPECT_EQ(bounds[1], 250);
  EXPECT_EQ(bounds[2], 500);
  EXPECT_EQ(bounds[3], 1000);
  EXPECT_EQ(bounds.back(), 10'000'000'000);
}

TEST(time_histogram, has_each_bound_in_the_range_that_ends_there) {
  constexpr auto& bounds = time_histogram::bounds_ns;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    EXPECT_EQ(range_of(bounds[i]), i);
    EXPECT_EQ(range_of(bounds[i] + 1), i + 1);
  }
  EXPECT_EQ(range_of(0), 0);
  EXPECT_EQ(range_of(-5), 0) << "a clock that goes back";
  EXPECT_EQ(range_of(std::numeric_limits<std::int64_t>::max()), bounds.size());
}

TEST(time_histogram, adds_up) {
  time_histogram h;
  for (const std::int64_t ns : {50, 60, 1'000'000, -5}) h.add(ns);
  EXPECT_EQ(h.count(0), 3);
  EXPECT_EQ(h.sum_ns(), 1'000'110);
}
