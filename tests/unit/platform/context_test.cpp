// Aim: a switch goes there and comes back with everything that belongs to a context, and nothing
// else. Method: the test's own context and a second one on a stack of its own.
#include "platform/context.hpp"

#include <gtest/gtest.h>
#include <unwind.h>

#include <array>
#include <cstdint>
#include <memory>

#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "support/test_cpu.hpp"

using sley::platform::context;
namespace platform = sley::platform;
using sley_test::all_control_words;
using sley_test::control_words;
using sley_test::default_control_words;
using sley_test::divide_by_zero;
using sley_test::meet_pending_exceptions;
using sley_test::present_control_words;
using sley_test::set_control_words;
using sley_test::trapping_control_words;

namespace {

constexpr std::size_t stack_bytes = 64 * 1024;

// A stack and what runs on it. One at a time: the entry function takes no argument.
struct fiber {
  explicit fiber(void (*f)()) : body(f) {
    memory = static_cast<char*>(platform::map_memory(stack_bytes, true));
    platform::adopt_thread_stack(main_state);
    platform::create_fiber(state, memory, stack_bytes);
    own = platform::make_context(memory + stack_bytes, &fiber::entry);
    current = this;
  }
  ~fiber() {
    platform::destroy_fiber(state);
    platform::reset_stack_memory(memory, stack_bytes);  // its frames were never left
    platform::unmap_memory(memory, stack_bytes);
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // From the test to the fiber, until that gives back.
  [[gnu::noinline]] void resume() {
    platform::before_switch(&main_state, state);
    platform::switch_context(main, own);
    platform::after_switch(main_state);
  }
  [[gnu::noinline]] void give_back() {
    platform::before_switch(&state, main_state);
    platform::switch_context(own, main);
    platform::after_switch(state);
  }

  static void entry() {
    platform::after_switch(current->state);
    current->body();
    for (;;) current->give_back();
  }

  static inline fiber* current = nullptr;
  void (*body)();
  char* memory;
  context main;
  context own;
  platform::fiber_state main_state;
  platform::fiber_state state;
};

int steps = 0;

void counts() {
  for (;;) {
    ++steps;
    fiber::current->give_back();
  }
}

TEST(context, a_new_context_starts_at_its_entry_and_goes_on_where_it_left) {
  steps = 0;
  fiber f(&counts);
  for (int i = 1; i <= 1000; ++i) {
    f.resume();
    ASSERT_EQ(steps, i);
  }
}

bool is_aligned = false;
bool is_on_its_stack = false;

void looks_at_its_frame() {
  alignas(16) volatile char local[16];
  const auto address = reinterpret_cast<std::uintptr_t>(&local[0]);
  const auto low = reinterpret_cast<std::uintptr_t>(fiber::current->memory);
  is_aligned = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) % 16 == 0;
  is_on_its_stack = address > low && address < low + stack_bytes;
}

TEST(context, the_entry_runs_on_the_given_stack_aligned_as_the_abi_wants) {
  fiber f(&looks_at_its_frame);
  f.resume();
  EXPECT_TRUE(is_aligned);
#ifndef SLEY_ASAN  // which may keep locals elsewhere
  EXPECT_TRUE(is_on_its_stack);
#endif
}

void scrambles_registers() {
  for (;;) {
    std::array<std::uint64_t, 12> v;
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0x0101010101010101U * (i + 100);
    asm volatile("" : : "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]));
    fiber::current->give_back();
  }
}

// Many values alive over the switch: whatever registers they are in, they are there after it.
TEST(context, values_survive_a_switch) {
  fiber f(&scrambles_registers);
  volatile std::uint64_t source = 17;
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t a = source * 3, b = source * 5, c = source * 7, d = source * 11;
    const std::uint64_t e = source * 13, g = source * 17, h = source * 19, k = source * 23;
    const double x = static_cast<double>(source) * 0.5, y = static_cast<double>(source) * 0.25;
    f.resume();
    ASSERT_EQ(a + b + c + d + e + g + h + k, source * (3 + 5 + 7 + 11 + 13 + 17 + 19 + 23));
    ASSERT_EQ(x + y, static_cast<double>(source) * 0.75);
  }
}

#ifndef SLEY_NO_FP_CONTROL

control_words given;
control_words seen;

void looks_and_changes() {
  seen = present_control_words();
  set_control_words(given);
  fiber::current->give_back();
  seen = present_control_words();
}

TEST(context, floating_point_control_belongs_to_the_context) {
  for (const control_words& words : all_control_words) {
    given = words;
    fiber f(&looks_and_changes);
    const control_words mine = present_control_words();
    f.resume();
    EXPECT_EQ(present_control_words(), mine);
    f.resume();
    EXPECT_EQ(seen, words);
    EXPECT_EQ(present_control_words(), mine);
  }
}

TEST(context, a_new_context_has_default_control_words_for_every_starter) {
  for (const control_words& words : all_control_words) {
    fiber f(&looks_and_changes);
    set_control_words(words);
    f.resume();
    const control_words after = present_control_words();
    set_control_words(default_control_words);
    EXPECT_EQ(after, words);
    EXPECT_EQ(seen, default_control_words);
  }
}

void wants_traps() {
  set_control_words(trapping_control_words);
  fiber::current->give_back();
  meet_pending_exceptions();
}

TEST(context, no_exception_flag_of_another_context_traps) {
  fiber f(&wants_traps);
  f.resume();
  divide_by_zero();  // masked here; the flag stays in the status word
  f.resume();
  EXPECT_EQ(present_control_words(), default_control_words);
}

TEST(context, a_reset_gives_the_default_control_words) {
  for (const control_words& words : all_control_words) {
    set_control_words(words);
    platform::reset_floating_point();
    EXPECT_EQ(present_control_words(), default_control_words);
  }
}

#endif

int frames = 0;
_Unwind_Reason_Code unwind_result = _URC_NO_REASON;

void walks_its_stack() {
  frames = 0;
  unwind_result = _Unwind_Backtrace(
      [](_Unwind_Context*, void*) { return ++frames < 100 ? _URC_NO_REASON : _URC_NORMAL_STOP; },
      nullptr);
}

TEST(context, an_unwind_ends_at_the_bottom_frame) {
  fiber f(&walks_its_stack);
  f.resume();
  EXPECT_EQ(unwind_result, _URC_END_OF_STACK);
  EXPECT_GE(frames, 2);
  EXPECT_LT(frames, 20);
}

int caught = 0;

void throws_and_catches() {
  for (;;) {
    try {
      throw 7;
    } catch (int i) {
      caught += i;
    }
    fiber::current->give_back();
  }
}

TEST(context, exceptions_work_on_a_context_of_its_own) {
  caught = 0;
  fiber f(&throws_and_catches);
  f.resume();
  f.resume();
  EXPECT_EQ(caught, 14);
}

void throws_without_a_handler() { throw 7; }

TEST(context_death_test, the_hook_sees_an_uncaught_exception) {
  const auto dies = [] {
    platform::set_uncaught_hooks(
        [](_Unwind_Exception*) noexcept { std::fputs("nobody wants it\n", stderr); }, nullptr);
    fiber f(&throws_without_a_handler);
    f.resume();
  };
  EXPECT_DEATH(dies(), "nobody wants it");
}

}  // namespace
