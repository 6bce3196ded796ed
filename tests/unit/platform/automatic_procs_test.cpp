// Aim: a program gets as many processors as Go would give it. Method: the rule on its own, and once
// on this system.
#include "platform/cpu_limit.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "platform/os.hpp"

using sley::platform::cpu_quota;
using sley::platform::procs_for;

namespace {

constexpr cpu_quota no_limit{};

TEST(automatic_procs, the_limit_is_rounded_up) {
  EXPECT_EQ(procs_for(64, {300000, 100000}), 3U);
  EXPECT_EQ(procs_for(64, {300001, 100000}), 4U);
  EXPECT_EQ(procs_for(64, {399999, 100000}), 4U);
}

TEST(automatic_procs, a_limit_alone_never_leads_to_one) {
  EXPECT_EQ(procs_for(64, {1000, 100000}), 2U);
  EXPECT_EQ(procs_for(64, {100000, 100000}), 2U);
  EXPECT_EQ(procs_for(64, {1, 1000000}), 2U);
}

TEST(automatic_procs, the_affinity_is_never_exceeded) {
  EXPECT_EQ(procs_for(1, {1000, 100000}), 1U);
  EXPECT_EQ(procs_for(1, {800000, 100000}), 1U);
  EXPECT_EQ(procs_for(4, {800000, 100000}), 4U);
  EXPECT_EQ(procs_for(4, no_limit), 4U);
}

TEST(automatic_procs, there_are_from_1_to_256) {
  EXPECT_EQ(procs_for(0, no_limit), 1U);
  EXPECT_EQ(procs_for(0, {1000, 100000}), 1U);
  EXPECT_EQ(procs_for(1000, no_limit), 256U);
  EXPECT_EQ(procs_for(UINT32_MAX, {INT64_MAX, 1}), 256U);
  EXPECT_EQ(procs_for(256, {25700000, 100000}), 256U);
}

TEST(automatic_procs, a_malformed_quota_is_no_limit) {
  for (const cpu_quota quota : {cpu_quota{-1, 100000}, cpu_quota{100000, 0}, cpu_quota{0, 100000},
                                cpu_quota{-1, -1}, cpu_quota{100000, -1}}) {
    EXPECT_FALSE(quota.is_limited());
    EXPECT_EQ(procs_for(8, quota), 8U);
  }
}

TEST(automatic_procs, this_system_gives_some) {
  const std::uint32_t procs = sley::platform::automatic_procs(0);
  EXPECT_GE(procs, 1U);
  EXPECT_LE(procs, static_cast<std::uint32_t>(sley::platform::available_cpus()));
  EXPECT_EQ(sley::platform::automatic_procs(0), procs);
}

}  // namespace
