// Aim: the gate counts idle processors and searchers, and says when a machine must be woken.
// Method: one thread; tests/model/wake_gate_model.cpp has the races.
#include "parts/wake_gate.hpp"

#include <gtest/gtest.h>

#include <utility>

using sley::parts::idle_debt;
using sley::parts::wake_gate;

namespace {

wake_gate& started(wake_gate& gate, std::uint32_t procs, std::uint32_t busy) {
  gate.set_procs(procs);
  gate.add_idle(procs);
  for (std::uint32_t i = 0; i < busy; ++i) EXPECT_TRUE(gate.leave_idle());
  return gate;
}

// Pays the debt: must the thread look at all queues?
bool must_look(idle_debt debt) { return std::move(debt).begin_to_pay(); }

TEST(wake_gate, starts_with_all_processors_idle) {
  wake_gate gate;
  gate.set_procs(256);
  gate.add_idle(256);
  EXPECT_EQ(gate.idle(), 256U);
  EXPECT_EQ(gate.searching(), 0U);
  EXPECT_FALSE(gate.is_paused());
}

TEST(wake_gate, a_wake_is_needed_only_with_an_idle_processor_and_no_searcher) {
  wake_gate gate;
  started(gate, 2, 1);
  EXPECT_TRUE(gate.wake_needed());
  EXPECT_TRUE(gate.claim_search());
  EXPECT_FALSE(gate.wake_needed()) << "the one that was woken searches";
  EXPECT_FALSE(gate.claim_search());
  EXPECT_TRUE(gate.leave_idle());
  EXPECT_TRUE(gate.found_work());
  EXPECT_FALSE(gate.wake_needed()) << "no processor is idle";
  EXPECT_FALSE(gate.claim_search());
}

TEST(wake_gate, at_most_half_as_many_search_as_are_busy) {
  for (std::uint32_t busy = 0; busy <= 16; ++busy) {
    wake_gate gate;
    started(gate, 16, busy);
    std::uint32_t searching = 0;
    while (gate.start_searching()) ++searching;
    EXPECT_EQ(searching, (busy + 1) / 2) << busy;
    EXPECT_EQ(gate.searching(), searching);
  }
}

TEST(wake_gate, only_the_last_searcher_that_finds_work_wakes_another) {
  wake_gate gate;
  started(gate, 4, 4);
  ASSERT_TRUE(gate.start_searching());
  ASSERT_TRUE(gate.start_searching());
  EXPECT_FALSE(gate.found_work());
  EXPECT_TRUE(gate.found_work());
  EXPECT_EQ(gate.searching(), 0U);
}

TEST(wake_gate, a_claim_that_failed_is_made_again_only_if_there_is_reason) {
  wake_gate gate;
  started(gate, 2, 1);
  ASSERT_TRUE(gate.claim_search());
  EXPECT_TRUE(gate.leave_idle());  // another machine took the processor
  EXPECT_FALSE(gate.claim_failed());
  EXPECT_TRUE(must_look(gate.go_idle(false)));
  ASSERT_TRUE(gate.claim_search());
  EXPECT_TRUE(gate.claim_failed()) << "a processor is idle, and no machine searches";
}

TEST(wake_gate, going_idle_ends_the_search) {
  wake_gate gate;
  started(gate, 2, 2);
  ASSERT_TRUE(gate.start_searching());
  EXPECT_TRUE(must_look(gate.go_idle(true)));
  EXPECT_EQ(gate.idle(), 1U);
  EXPECT_EQ(gate.searching(), 0U);
  EXPECT_TRUE(gate.leave_idle());
  gate.search_anyway();
  EXPECT_EQ(gate.idle(), 0U);
  EXPECT_EQ(gate.searching(), 1U);
}

TEST(wake_gate, a_paused_gate_needs_no_wake_and_tells_a_machine_that_goes_idle) {
  wake_gate gate;
  started(gate, 2, 1);
  gate.pause();
  EXPECT_TRUE(gate.is_paused());
  EXPECT_FALSE(gate.wake_needed());
  EXPECT_FALSE(gate.claim_search());
  EXPECT_FALSE(must_look(gate.go_idle(false)));
  EXPECT_EQ(gate.idle(), 2U) << "the counts go on";
  EXPECT_TRUE(must_look(gate.resume()));
  EXPECT_FALSE(gate.is_paused());
  EXPECT_TRUE(gate.wake_needed());
}

TEST(wake_gate, a_stopped_gate_needs_no_wake_and_tells_a_machine_that_goes_idle) {
  wake_gate gate;
  started(gate, 2, 1);
  EXPECT_FALSE(gate.is_halted());
  gate.stop();
  EXPECT_TRUE(gate.is_halted());
  EXPECT_FALSE(gate.is_paused());
  EXPECT_FALSE(gate.wake_needed());
  EXPECT_FALSE(gate.claim_search());
  EXPECT_FALSE(must_look(gate.go_idle(false)));
  EXPECT_EQ(gate.idle(), 2U);
  EXPECT_TRUE(must_look(gate.restart()));
  EXPECT_FALSE(gate.is_halted());
  EXPECT_TRUE(gate.wake_needed());
}

TEST(wake_gate, is_halted_until_it_is_neither_paused_nor_stopped) {
  for (const bool stop_is_first_to_end : {false, true}) {
    wake_gate gate;
    started(gate, 2, 1);
    gate.pause();
    gate.stop();
    EXPECT_TRUE(gate.is_paused());
    EXPECT_FALSE(must_look(stop_is_first_to_end ? gate.restart() : gate.resume()));
    EXPECT_TRUE(gate.is_halted());
    EXPECT_EQ(gate.is_paused(), stop_is_first_to_end);
    EXPECT_FALSE(gate.wake_needed());
    EXPECT_TRUE(must_look(stop_is_first_to_end ? gate.resume() : gate.restart()));
    EXPECT_FALSE(gate.is_halted());
    EXPECT_TRUE(gate.wake_needed());
  }
}

TEST(wake_gate, a_processor_in_reserve_needs_no_wake) {
  wake_gate gate;
  started(gate, 4, 2);
  EXPECT_FALSE(must_look(gate.keep_in_reserve(1)));
  EXPECT_EQ(gate.idle(), 2U);
  EXPECT_EQ(gate.available(), 1U);
  EXPECT_TRUE(gate.wake_needed());
  EXPECT_FALSE(must_look(gate.keep_in_reserve(3)));
  EXPECT_EQ(gate.reserve(), 3U);
  EXPECT_EQ(gate.available(), 0U) << "more in reserve than idle";
  EXPECT_FALSE(gate.leave_idle());
  EXPECT_FALSE(gate.wake_needed());
  EXPECT_FALSE(gate.claim_search());
  EXPECT_TRUE(must_look(gate.go_idle(false)));
  EXPECT_FALSE(gate.wake_needed()) << "one is busy";
  EXPECT_TRUE(must_look(gate.go_idle(false)));
  EXPECT_EQ(gate.available(), 1U) << "all are idle, and one is not in reserve";
  EXPECT_TRUE(gate.wake_needed());
  EXPECT_TRUE(must_look(gate.keep_in_reserve(0)));
  EXPECT_EQ(gate.available(), 4U);
  EXPECT_EQ(gate.searching(), 0U);
}

TEST(wake_gate, a_debt_is_owed_once) {
  wake_gate gate;
  started(gate, 2, 2);
  idle_debt first = gate.go_idle(false);
  idle_debt second(std::move(first));
  EXPECT_FALSE(std::move(first).begin_to_pay()) << "it has moved";
  EXPECT_TRUE(std::move(second).begin_to_pay());
  EXPECT_FALSE(std::move(second).begin_to_pay()) << "it is paid";
}

// As when the number of processors changes: the searchers have gone before.
TEST(wake_gate, a_new_number_of_processors_bounds_searchers_and_idle_processors) {
  wake_gate gate;
  started(gate, 2, 2);
  gate.stop();
  gate.set_procs(8);
  gate.add_idle(6);
  EXPECT_TRUE(must_look(gate.restart()));
  EXPECT_EQ(gate.idle(), 6U);
  ASSERT_TRUE(gate.start_searching());
  EXPECT_FALSE(gate.start_searching()) << "two are busy";
  EXPECT_TRUE(gate.found_work());
  gate.stop();
  gate.remove_idle(5);
  gate.set_procs(3);
  EXPECT_TRUE(must_look(gate.restart()));
  EXPECT_EQ(gate.idle(), 1U);
  EXPECT_TRUE(gate.leave_idle());
  EXPECT_EQ(gate.idle(), 0U);
  ASSERT_TRUE(gate.start_searching());
  ASSERT_TRUE(gate.start_searching());
  EXPECT_FALSE(gate.start_searching()) << "three are busy";
}

TEST(wake_gate, counts_up_to_as_many_processors_as_there_can_be) {
  wake_gate gate;
  gate.set_procs(256);
  gate.add_idle(256);
  EXPECT_FALSE(must_look(gate.keep_in_reserve(255)));
  gate.pause();
  gate.stop();
  EXPECT_EQ(gate.idle(), 256U);
  EXPECT_EQ(gate.reserve(), 255U);
  EXPECT_EQ(gate.available(), 1U);
  EXPECT_FALSE(must_look(gate.keep_in_reserve(0))) << "the gate is halted";
  gate.remove_idle(256);
  EXPECT_EQ(gate.idle(), 0U);
  EXPECT_TRUE(gate.is_paused());
  EXPECT_EQ(gate.searching(), 0U);
}

}  // namespace
