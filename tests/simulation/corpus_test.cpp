// explore() finds the bug of every program of the corpus within 10,000 schedules, by each strategy
// that is meant for it, and finds nothing in the same program without the bug. It finds each bug
// again by the seed that it names, and the order of events is the same to the last.
//
// SLEY_SCHEDULES is how many schedules each fixed program is played in; 200 if it is not set. Half
// of them by chance, and a quarter by each other strategy.
#include "corpus.hpp"
#include "schedules.hpp"

#include "support/conditions.hpp"

#include <sley/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using sley::testing::explore;
using sley::testing::failure;
using sley::testing::options;
using sley::testing::report;
using sley::testing::strategy;
using sley_test::program;
using sley_test::schedules;

constexpr bool finds_data_races = sley_test::under_tsan;

constexpr std::uint64_t enough = 10'000;

std::vector<program> all_programs() {
  std::vector<program> all;
  for (const auto part : {sley_test::programs_with_data(), sley_test::programs_with_waiting(),
                          sley_test::programs_with_channels()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

options with(strategy s, std::uint64_t schedules) {
  return {.schedules = schedules, .strategy = s, .max_steps = 100'000};
}

// The thread sanitizer may see a bug for what it is before it shows.
bool is_that_bug(const report& found, const program& p) {
  return found.kind == p.bug || (finds_data_races && found.kind == failure::data_race);
}

class corpus : public ::testing::TestWithParam<program> {
 protected:
  // Skips bugs that this build can't find.
  void SetUp() override {
    if (GetParam().bug == failure::data_race && !finds_data_races) {
      GTEST_SKIP() << "only the thread sanitizer finds it";
    }
  }
};

TEST_P(corpus, has_a_bug_that_chance_finds) {
  const report found = explore(with(strategy::random, enough), GetParam().buggy);
  EXPECT_TRUE(is_that_bug(found, GetParam())) << found.to_string();
  RecordProperty("schedules", static_cast<int>(found.schedules));
}

TEST_P(corpus, has_a_bug_that_priorities_find) {
  const report found = explore(with(strategy::priorities, enough), GetParam().buggy);
  EXPECT_TRUE(is_that_bug(found, GetParam())) << found.to_string();
}

TEST_P(corpus, has_a_bug_that_exhaustive_search_finds) {
  if (!GetParam().is_small) GTEST_SKIP() << "it takes more changes than are tried";
  const report found = explore(with(strategy::exhaustive, enough), GetParam().buggy);
  EXPECT_TRUE(is_that_bug(found, GetParam())) << found.to_string();
}

TEST_P(corpus, has_no_other_bug) {
  for (const strategy s : {strategy::random, strategy::priorities, strategy::exhaustive}) {
    const std::uint64_t share = schedules() / (s == strategy::random ? 2 : 4);
    const report found = explore(with(s, std::max<std::uint64_t>(share, 1)), GetParam().fixed);
    EXPECT_TRUE(found.is_clean()) << found.to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(every, corpus, ::testing::ValuesIn(all_programs()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
