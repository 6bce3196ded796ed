// Aim: a failed check names its expectation and its place, and ends the process. Method: death
// tests.
#include "base/check.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(check_death_test, a_failed_check_names_the_invariant_and_the_place) {
  const int balance = 1;
  EXPECT_DEATH(SLEY_CHECK(balance == 2, "XX-1: the books balance"),
               "broken invariant: XX-1: the books balance \\(.*check_test.cpp:[0-9]+\\)");
}

TEST(check_death_test, a_fatal_error_says_why) {
  EXPECT_DEATH(sley::base::fatal("all is lost"), "fatal error: all is lost");
}

TEST(end_process_death_test, ends_with_its_status_and_without_destructors) {
  const auto dies = [] {
    std::atexit([] { std::_Exit(3); });
    sley::base::end_process(5);
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(5), "");
}

TEST(check, a_check_that_holds_is_silent_and_evaluates_once) {
  int evaluated = 0;
  SLEY_CHECK(++evaluated == 1, "once");
  EXPECT_EQ(evaluated, 1);
}

TEST(check_death_test, a_costly_check_counts_only_in_builds_that_have_them) {
  int evaluated = 0;
  if (sley::base::debug_checks) {
    EXPECT_DEATH(SLEY_DCHECK(++evaluated == 0, "costly"), "broken invariant: costly");
  } else {
    SLEY_DCHECK(++evaluated == 0, "costly");
  }
  EXPECT_EQ(evaluated, 0);
}

}  // namespace
