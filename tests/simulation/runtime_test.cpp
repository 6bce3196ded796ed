// The runtime in its own simulation: each scenario ends well with 1, 2, 4 and 8 processors,
// whatever the order at every atomic operation of the library, with a clock that stands, creeps or
// runs.
//
// SLEY_SCHEDULES is how many orders each is played in; 200 if it is not set. Half of them by
// chance, half by priorities.
#include "scenarios.hpp"
#include "schedules.hpp"

#include <sley/testing.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace {

using sley::testing::explore;
using sley::testing::options;
using sley::testing::report;
using sley::testing::strategy;
using sley_test::scenario;
using sley_test::schedules;

options with(strategy s, int procs) {
  return {.schedules = std::max<std::uint64_t>(schedules() / 8, 1),
          .strategy = s,
          .procs = procs,
          .depth = 5,
          .max_steps = 20'000'000,
          .every_atomic = true};
}

class runtime : public ::testing::TestWithParam<scenario> {};

TEST_P(runtime, bears_every_order) {
  for (const int procs : {1, 2, 4, 8}) {
    for (const strategy s : {strategy::random, strategy::priorities}) {
      const report r = explore(with(s, procs), GetParam().body);
      ASSERT_TRUE(r.is_clean()) << procs << " processors: " << r.to_string();
    }
  }
}

TEST_P(runtime, replays_to_the_last_event) {
  options o = with(strategy::random, 4);
  o.schedules = 1;
  for (o.seed = 1000; o.seed < 1003; ++o.seed) {
    const report once = explore(o, GetParam().body);
    const report again = explore(o, GetParam().body);
    EXPECT_EQ(once.hash, again.hash);
    EXPECT_EQ(once.steps, again.steps);
  }
}

std::string name_of(const ::testing::TestParamInfo<scenario>& p) {
  return std::string(p.param.name);
}

INSTANTIATE_TEST_SUITE_P(scheduler, runtime, ::testing::ValuesIn(sley_test::scheduler_scenarios()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(channels, runtime, ::testing::ValuesIn(sley_test::channel_scenarios()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(sync, runtime, ::testing::ValuesIn(sley_test::sync_scenarios()), name_of);
INSTANTIATE_TEST_SUITE_P(io, runtime, ::testing::ValuesIn(sley_test::io_scenarios()), name_of);

}  // namespace
