// Aim: the runtime hears of memory faults first, and others hear of those that are not its
// business. Method: death tests that touch a guard.
#include "platform/fault.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "platform/os.hpp"

namespace platform = sley::platform;

namespace {

char* guard = nullptr;

void touch_guard() {
  guard = static_cast<char*>(platform::map_memory(platform::page_bytes(), true));
  ASSERT_TRUE(platform::install_guard(guard, platform::page_bytes()));
  *const_cast<volatile char*>(guard + 5) = 1;
}

TEST(fault_death_test, the_hook_gets_the_address) {
  const auto dies = [] {
    platform::install_fault_handler([](void* address) noexcept {
      if (address == guard + 5) std::fputs("there it is\n", stderr);
      std::_Exit(3);
    });
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(3), "there it is");
}

TEST(fault_death_test, the_handler_before_ours_gets_what_the_hook_returns_from) {
  const auto dies = [] {
    std::signal(SIGSEGV, [](int) { std::_Exit(4); });
    platform::install_fault_handler([](void*) noexcept {});
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(4), "");
}

TEST(fault_death_test, the_default_action_is_taken_where_nobody_was_before) {
  const auto dies = [] {
    std::signal(SIGSEGV, SIG_DFL);
    platform::install_fault_handler([](void*) noexcept {});
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::KilledBySignal(SIGSEGV), "");
}

TEST(fault, a_thread_gets_an_alternate_stack_and_keeps_the_one_it_has) {
  std::thread([] {
    platform::use_alternate_signal_stack();
    stack_t first = {};
    sigaltstack(nullptr, &first);
    EXPECT_EQ(first.ss_flags & SS_DISABLE, 0);
    platform::use_alternate_signal_stack();
    stack_t second = {};
    sigaltstack(nullptr, &second);
    EXPECT_EQ(second.ss_sp, first.ss_sp);
  }).join();
}

}  // namespace
