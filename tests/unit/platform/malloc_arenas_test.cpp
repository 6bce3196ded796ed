// Aim: a setting of arenas is found in GLIBC_TUNABLES wherever it stands, and nothing else is taken
// for one; the number of arenas is right for every number of CPUs. What the limit does is tested by
// conformance/malloc_arenas_test.cpp.
#include "platform/malloc_arenas.hpp"

#include <cstdint>

#include <gtest/gtest.h>

using sley::platform::has_arena_setting;
using sley::platform::malloc_arenas_for;

namespace {

TEST(malloc_arenas, settings_are_found_among_others) {
  EXPECT_TRUE(has_arena_setting("glibc.malloc.arena_max=2"));
  EXPECT_TRUE(has_arena_setting("glibc.malloc.arena_test=2"));
  EXPECT_TRUE(has_arena_setting("glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2"));
  EXPECT_TRUE(has_arena_setting("::glibc.malloc.arena_max=2:glibc.rtld.nns=4:"));
}

TEST(malloc_arenas, other_settings_are_none_of_arenas) {
  EXPECT_FALSE(has_arena_setting(""));
  EXPECT_FALSE(has_arena_setting(":"));
  EXPECT_FALSE(has_arena_setting("glibc.malloc.arena"));
  EXPECT_FALSE(has_arena_setting("glibc.malloc.tcache_count=0:glibc.malloc.perturb=1"));
  EXPECT_FALSE(has_arena_setting("glibc.rtld.nns=glibc.malloc.arena_max=2"));
  EXPECT_FALSE(has_arena_setting("xglibc.malloc.arena_max=2"));
}

TEST(malloc_arenas, are_two_for_each_cpu_and_at_least_four) {
  EXPECT_EQ(malloc_arenas_for(0), 4u);
  EXPECT_EQ(malloc_arenas_for(1), 4u);
  EXPECT_EQ(malloc_arenas_for(2), 4u);
  EXPECT_EQ(malloc_arenas_for(3), 6u);
  EXPECT_EQ(malloc_arenas_for(UINT32_MAX), UINT32_MAX - 1);
}

}  // namespace
