// Aim: the runtime hears of memory faults first, and faults that are not the runtime's go to the
// earlier handler or the default action. Method: death tests that touch a guard.
#include "platform/fault.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/auxv.h>
#include <sys/mman.h>

#include "platform/os.hpp"
#include "support/test_cpu.hpp"

namespace platform = sley::platform;

namespace {

char* guard = nullptr;

void touch_guard() {
  guard = static_cast<char*>(platform::map_memory(platform::page_bytes(), true));
  ASSERT_NE(platform::install_guard(guard, platform::page_bytes()), platform::guard::none);
  *const_cast<volatile char*>(guard + 5) = 1;
}

TEST(fault_death_test, the_hook_gets_the_address) {
  const auto dies = [] {
    platform::install_fault_handler([](void* address, void*) noexcept {
      if (address == guard + 5) std::fputs("there it is\n", stderr);
      std::_Exit(3);
    });
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(3), "there it is");
}

TEST(fault_death_test, the_earlier_handler_gets_a_fault_that_the_hook_returns_from) {
  const auto dies = [] {
    std::signal(SIGSEGV, [](int) { std::_Exit(4); });
    platform::install_fault_handler([](void*, void*) noexcept {});
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::ExitedWithCode(4), "");
}

TEST(fault_death_test, the_default_action_is_taken_without_an_earlier_handler) {
  const auto dies = [] {
    std::signal(SIGSEGV, SIG_DFL);
    platform::install_fault_handler([](void*, void*) noexcept {});
    touch_guard();
  };
  EXPECT_EXIT(dies(), testing::KilledBySignal(SIGSEGV), "");
}

bool begin() noexcept { return true; }

void fail_with(void (*report)(const platform::failure&) noexcept) {
  std::signal(SIGSEGV, SIG_DFL);
  std::signal(SIGILL, SIG_DFL);
  platform::install_fault_handler([](void*, void*) noexcept {});
  platform::install_failure_hooks({.begin = &begin, .report = report});
  SLEY_TEST_EXECUTE_NO_INSTRUCTION();
}

TEST(fault_death_test, a_failure_is_reported_before_the_process_ends_by_it) {
  const auto dies = [] {
    fail_with([](const platform::failure& f) noexcept {
      std::fputs(f.signal == "SIGILL" && !f.has_address && f.registers.pc() != 0 ? "told" : "?",
                 stderr);
    });
  };
  EXPECT_EXIT(dies(), testing::KilledBySignal(SIGILL), "^told$");
}

TEST(fault_death_test, a_report_that_fails_does_not_change_the_end_of_the_process) {
  const auto faults = [] { fail_with([](const platform::failure&) noexcept { touch_guard(); }); };
  EXPECT_EXIT(faults(), testing::KilledBySignal(SIGILL), "");
  const auto fails_likewise = [] {
    fail_with([](const platform::failure&) noexcept { SLEY_TEST_EXECUTE_NO_INSTRUCTION(); });
  };
  EXPECT_EXIT(fails_likewise(), testing::KilledBySignal(SIGILL), "");
}

bool has_alternate_stack() {
  stack_t current = {};
  sigaltstack(nullptr, &current);
  return (current.ss_flags & SS_DISABLE) == 0;
}

bool is_mapped(void* page) {
  unsigned char resident = 0;
  return mincore(page, 1, &resident) == 0;
}

// In a thread that has no alternate stack, as sanitizers give it one.
template <class F>
void in_a_bare_thread(F f) {
  std::thread([&f] {
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    stack_t before = {};
    sigaltstack(&none, &before);
    f();
    sigaltstack(&before, nullptr);
  }).join();
}

TEST(fault, a_thread_gets_an_alternate_stack_and_keeps_the_one_it_has) {
  in_a_bare_thread([] {
    void* ours = platform::use_alternate_signal_stack();
    stack_t first = {};
    sigaltstack(nullptr, &first);
    EXPECT_EQ(first.ss_flags & SS_DISABLE, 0);
    EXPECT_GE(first.ss_size, getauxval(AT_MINSIGSTKSZ) + 32 * 1024) << "the handler has no room";
    platform::use_alternate_signal_stack();
    stack_t second = {};
    sigaltstack(nullptr, &second);
    EXPECT_EQ(second.ss_sp, first.ss_sp);
    platform::drop_alternate_signal_stack(ours);
  });
}

TEST(fault, the_alternate_stack_of_a_thread_can_be_given_back) {
  in_a_bare_thread([] {
    EXPECT_FALSE(has_alternate_stack());
    void* ours = platform::use_alternate_signal_stack();
    ASSERT_NE(ours, nullptr);
    EXPECT_TRUE(has_alternate_stack());
    EXPECT_TRUE(is_mapped(ours));
    EXPECT_EQ(platform::use_alternate_signal_stack(), nullptr) << "it has one";
    platform::drop_alternate_signal_stack(nullptr);
    EXPECT_TRUE(has_alternate_stack()) << "nothing was ours";
    platform::drop_alternate_signal_stack(ours);
    EXPECT_FALSE(has_alternate_stack());
    EXPECT_FALSE(is_mapped(ours));
  });
}

TEST(fault, a_thread_keeps_the_alternate_stack_that_its_program_has_given_it) {
  in_a_bare_thread([] {
    std::vector<char> memory(64 * 1024);
    stack_t theirs = {};
    theirs.ss_sp = memory.data();
    theirs.ss_size = memory.size();
    ASSERT_EQ(sigaltstack(&theirs, nullptr), 0);
    void* ours = platform::use_alternate_signal_stack();
    EXPECT_EQ(ours, nullptr);
    platform::drop_alternate_signal_stack(ours);
    stack_t now = {};
    sigaltstack(nullptr, &now);
    EXPECT_EQ(now.ss_sp, memory.data());
  });
}

}  // namespace
