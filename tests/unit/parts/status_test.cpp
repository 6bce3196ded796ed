// Aim: a goroutine's status changes by the table of status.hpp only. Method: all pairs; the illegal
// ones in death tests.
#include "parts/status.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

using sley::parts::is_legal;
using sley::parts::name_of;
using sley::parts::status;
using sley::parts::status_word;

namespace {

constexpr status all[] = {status::idle, status::runnable, status::running, status::waiting,
                          status::dead};

// The legal way from a new word to each status.
void bring_to(status_word& word, status wanted) {
  const std::vector<status> life = {status::idle, status::runnable, status::running};
  for (std::size_t i = 0; i + 1 < life.size() && word.get() != wanted; ++i) {
    word.transition(life[i], life[i + 1]);
  }
  if (word.get() != wanted) word.transition(status::running, wanted);
}

TEST(status, a_new_word_is_idle) { EXPECT_EQ(status_word().get(), status::idle); }

TEST(status, the_table_has_seven_transitions_and_each_is_made) {
  int legal = 0;
  for (const status from : all) {
    for (const status to : all) {
      if (!is_legal(from, to)) continue;
      ++legal;
      status_word word;
      bring_to(word, from);
      word.transition(from, to);
      EXPECT_EQ(word.get(), to);
    }
  }
  EXPECT_EQ(legal, 7);
}

TEST(status, only_one_of_them_is_waiting) {
  for (const status s : all) {
    status_word word;
    bring_to(word, s);
    EXPECT_EQ(word.is_waiting(), s == status::waiting) << name_of(s);
  }
}

TEST(status, a_thread_that_sees_waiting_sees_the_saved_state) {
  for (int round = 0; round < 200; ++round) {
    status_word word;
    bring_to(word, status::running);
    int saved = 0;
    std::thread goroutine([&] {
      saved = round + 1;
      word.transition(status::running, status::waiting);
    });
    while (!word.is_waiting()) std::this_thread::yield();
    EXPECT_EQ(saved, round + 1);
    goroutine.join();
  }
}

TEST(status_death_test, a_transition_from_another_status_aborts_with_the_names) {
  for (const status actual : all) {
    for (const status from : all) {
      if (from == actual) continue;
      status_word word;
      bring_to(word, actual);
      const std::string message = std::string("status is ") + name_of(actual) +
                                  " where it goes from " + name_of(from) + " to running";
      EXPECT_DEATH(word.transition(from, status::running), message);
    }
  }
}

TEST(status_death_test, a_transition_that_the_table_does_not_have_aborts_with_both_names) {
  if (!sley::base::debug_checks) GTEST_SKIP() << "only in builds with debug checks";
  for (const status from : all) {
    for (const status to : all) {
      if (is_legal(from, to)) continue;
      status_word word;
      bring_to(word, from);
      const std::string message = std::string("goes from ") + name_of(from) + " to " + name_of(to);
      EXPECT_DEATH(word.transition(from, to), message);
    }
  }
}

}  // namespace
