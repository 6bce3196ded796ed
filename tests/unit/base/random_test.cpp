// Aim: the random numbers are repeatable, in range and roughly uniform. Method: counting.
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

using generator = sley::base::random;  // stdlib.h has a function of that name

TEST(random, the_same_seed_gives_the_same_numbers) {
  generator a(42);
  generator b(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.next(), b.next());
}

TEST(random, neighbouring_seeds_give_unrelated_numbers) {
  std::set<std::uint32_t> first;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) first.insert(generator(seed).next());
  EXPECT_GE(first.size(), 999U);
}

TEST(random, a_zero_seed_does_not_stand_still) {
  generator r(0);
  EXPECT_NE(r.next(), r.next());
}

TEST(random, below_stays_below) {
  generator r(3);
  for (std::uint32_t n = 1; n < 100; ++n) {
    for (int i = 0; i < 100; ++i) ASSERT_LT(r.below(n), n);
  }
  EXPECT_EQ(r.below(1), 0U);
}

TEST(random, below_gives_each_number_about_equally_often) {
  constexpr std::uint32_t n = 10;
  constexpr int rounds = 100'000;
  std::array<int, n> count{};
  generator r(5);
  for (int i = 0; i < rounds; ++i) ++count[r.below(n)];
  for (const int c : count) {
    EXPECT_GT(c, rounds / 10 * 9 / 10);
    EXPECT_LT(c, rounds / 10 * 11 / 10);
  }
}
