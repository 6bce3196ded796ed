// Aim: options and seeds that are none are refused with a clear error, and what a check says is
// taken as it is. Method: extremes, without the library in use otherwise.
#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using sley::testing::explore;
using sley::testing::failure;
using sley::testing::options;

// SLEY_SEED while it lives.
class given_seed {
 public:
  explicit given_seed(const std::string& text) { ::setenv("SLEY_SEED", text.c_str(), 1); }
  ~given_seed() { ::unsetenv("SLEY_SEED"); }
  given_seed(const given_seed&) = delete;
  given_seed& operator=(const given_seed&) = delete;
};

void expect_refused(const options& o) {
  EXPECT_THROW(explore(o, [] {}), std::invalid_argument);
}

TEST(hostile, seeds_that_are_none_are_refused) {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "-1",
                                          "+1",
                                          "1 ",
                                          "0x1",
                                          "18446744073709551616",
                                          "99999999999999999999",
                                          "x",
                                          "x0",
                                          "x-1",
                                          "x012",
                                          "x0g",
                                          "x 1",
                                          "x+1",
                                          "X00",
                                          "1\n",
                                          "x00 ",
                                          "x0x",
                                          "x00-1",
                                          "\xff",
                                          "a",
                                          std::string(1 << 16, '9')};
  for (const std::string& text : texts) {
    const given_seed seed(text);
    EXPECT_THROW(explore({.schedules = 1}, [] {}), std::invalid_argument) << text.substr(0, 40);
  }
}

TEST(hostile, the_largest_seed_is_one) {
  const given_seed seed("18446744073709551615");
  EXPECT_EQ(explore({.schedules = 1}, [] {}).seed, "18446744073709551615");
}

TEST(hostile, options_out_of_their_range_are_refused) {
  using ints = std::numeric_limits<int>;
  expect_refused({.schedules = 0});
  for (const int n : {ints::min(), -1, 0, 257, ints::max()}) expect_refused({.procs = n});
  for (const int n : {ints::min(), -1, 0, 33, ints::max()}) expect_refused({.depth = n});
  for (const int n : {ints::min(), -1, 256, ints::max()}) expect_refused({.preemptions = n});
  expect_refused({.max_steps = 0});
  expect_refused({.grace = std::chrono::nanoseconds::min()});
  expect_refused({.patience = std::chrono::seconds(0)});
  expect_refused({.patience = std::chrono::seconds::min()});
}

TEST(hostile, the_longest_times_are_times) {
  EXPECT_TRUE(explore({.schedules = 1,
                       .grace = std::chrono::nanoseconds::max(),
                       .patience = std::chrono::seconds::max()},
                      [] {})
                  .is_clean());
}

TEST(hostile, the_longest_grace_lets_goroutines_end_and_finds_a_leak) {
  const sley::testing::options o = {
      .schedules = 1, .grace = std::chrono::hours::max(), .patience = std::chrono::hours::max()};
  const auto ends = explore(
      o, [] { sley::go([] { sley::this_goroutine::sleep_for(std::chrono::years(100)); }); });
  EXPECT_TRUE(ends.is_clean()) << ends.to_string();
  EXPECT_EQ(explore(o, [] { sley::go([] { sley::block_forever(); }); }).kind, failure::leak);
}

TEST(hostile, checks_may_say_anything) {
  for (const std::string& what : {std::string(), std::string("a\0b", 3), std::string(1 << 20, 'x'),
                                  std::string("\x1b[2J\r\n\xff")}) {
    const auto r = explore({.schedules = 1}, [what] { sley::testing::check(false, what); });
    EXPECT_EQ(r.kind, failure::check);
  }
}

}  // namespace
