// Aim: the unwinder finds what libgcc's finds, and survives what libgcc's does not. Method:
// libgcc's answers for all code that is loaded; stacks of many shapes, walked by both; memory that
// can't be read.
#include "platform/unwind/own_process.hpp"

#include <gtest/gtest.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include <alloca.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "platform/context.hpp"
#include "platform/os.hpp"
#include "support/child.hpp"
#include "support/conditions.hpp"
#include "support/refuse.hpp"
#include "support/unwind_oracle.hpp"
#include "support/test_cpu.hpp"

namespace platform = sley::platform;
using platform::frame_registers;
using platform::frame_tables;
using platform::own_stack;
using platform::stack_walk;

namespace {

TEST(unwind, each_step_is_libgccs) { sley_test::expect_steps_of_libgcc(); }

TEST(unwind, the_loaders_list_has_the_same_tables) {
  // On riscv64 libc has tables only for functions that call back into the program, as qsort does.
  const void* places[] = {reinterpret_cast<const void*>(&::qsort),
                          reinterpret_cast<const void*>(&_Unwind_Backtrace),
                          reinterpret_cast<const void*>(&sley_test::expect_steps_of_libgcc)};
  for (const void* place : places) {
    frame_tables found;
    frame_tables listed;
    const auto address = reinterpret_cast<std::uint64_t>(place);
    ASSERT_TRUE(platform::find_own_tables(address, found));
    ASSERT_TRUE(platform::find_own_tables_by_list(address, listed));
    EXPECT_EQ(found.header, listed.header);
    for (const frame_tables& t : {found, listed}) {
      EXPECT_TRUE(t.bytes.holds(t.header, 8));
      platform::frame_description function;
      EXPECT_TRUE(platform::find_description(t, address, function));
      EXPECT_EQ(function.code.begin, address);
    }
  }
  frame_tables none;
  int local = 0;
  EXPECT_FALSE(platform::find_own_tables(reinterpret_cast<std::uint64_t>(&local), none));
  EXPECT_FALSE(platform::find_own_tables_by_list(reinterpret_cast<std::uint64_t>(&local), none));
}

// glibc may have found each segment for itself, and the tables are in one of them.
TEST(unwind, each_segment_of_an_object_leads_to_its_tables) {
  const auto look = [](dl_phdr_info* object, std::size_t, void* count) {
    for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
      const std::uint64_t address = object->dlpi_addr + part.p_vaddr;
      frame_tables found;
      frame_tables listed;
      if (part.p_type != PT_LOAD || !platform::find_own_tables(address, found)) continue;
      EXPECT_TRUE(platform::find_own_tables_by_list(address, listed)) << object->dlpi_name;
      EXPECT_EQ(found.header, listed.header) << object->dlpi_name;
      EXPECT_TRUE(found.bytes.holds(found.header, 8)) << object->dlpi_name;
      ++*static_cast<int*>(count);
    }
    return 0;
  };
  int segments = 0;
  dl_iterate_phdr(look, &segments);
  EXPECT_GT(segments, 0);
}

// ---- stacks of many shapes ----

using addresses = std::vector<std::uintptr_t>;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* arg) {
  int is_before = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(context, &is_before);
  if (pc != 0) static_cast<addresses*>(arg)->push_back(pc + (is_before != 0 ? 1 : 0));
  return _URC_NO_REASON;
}

std::size_t walks = 0;
std::size_t longest_walk = 0;

// Both begin in this function, at two places.
[[gnu::noinline]] void compare_walks() {
  addresses theirs;
  _Unwind_Backtrace(&add_frame, &theirs);
  std::array<std::uintptr_t, 400> buffer;
  const frame_registers here = platform::registers_here();
  // Most is read by the kernel. An emulator can't, and has all of it read directly.
  const bool is_emulated = !sley_test::setting("SLEY_TEST_EMULATOR").empty();
  const std::uintptr_t sp = here.get(platform::column_sp);
  const own_stack stack = is_emulated ? own_stack{0, UINTPTR_MAX} : own_stack{sp, sp + 64};
  const std::size_t size = platform::collect_frames(stack_walk(here, stack.memory()), buffer);
  const addresses ours(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
  ASSERT_GT(ours.size(), 2U);
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_TRUE(std::equal(ours.begin() + 1, ours.end(), theirs.begin() + 1));
  ++walks;
  longest_walk = std::max(longest_walk, size);
}

void go_deeper(int depth);

// The compiler must have it in memory.
void use(volatile char* memory) { asm volatile("" : : "r"(memory) : "memory"); }

[[gnu::noinline]] void plain(int depth) {
  go_deeper(depth);
  asm volatile("");
}

[[gnu::noinline]] void with_alloca(int depth) {
  use(static_cast<char*>(alloca(static_cast<std::size_t>(depth) * 24 + 1)));
  go_deeper(depth);
  asm volatile("");
}

[[gnu::noinline]] void aligned(int depth) {
  alignas(64) char buffer[128];
  use(buffer);
  go_deeper(depth);
  use(buffer);
}

[[gnu::noinline]] void aligned_with_alloca(int depth) {
  alignas(128) char buffer[128];
  use(static_cast<char*>(alloca(static_cast<std::size_t>(depth) * 40 + 1)));
  use(buffer);
  go_deeper(depth);
  use(buffer);
}

[[gnu::noinline]] int with_many_arguments(int a, int b, int c, int d, int e, int f, int g, int h) {
  go_deeper(a);
  return a + b + c + d + e + f + g + h;
}

[[gnu::noinline]] void in_a_handler(int depth) {
  try {
    throw std::runtime_error("on the way");
  } catch (const std::runtime_error&) {
    go_deeper(depth);
  }
}

[[gnu::noinline]] void with_saved_registers(int depth) {
  asm volatile("" : : : SLEY_TEST_SAVED_REGISTERS);
  go_deeper(depth);
  asm volatile("" : : : SLEY_TEST_SAVED_REGISTERS);
}

int sorted_depth = 0;
[[gnu::noinline]] void through_libc(int depth) {
  sorted_depth = depth;
  int two[] = {2, 1};
  std::qsort(two, 2, sizeof(int), [](const void*, const void*) {
    if (const int d = std::exchange(sorted_depth, 0); d != 0) go_deeper(d);
    return 0;
  });
}

int signal_depth = 0;
[[gnu::noinline]] void through_a_signal(int depth) {
  signal_depth = depth;
  struct sigaction action = {};
  struct sigaction before;
  action.sa_handler = [](int) { go_deeper(signal_depth); };
  action.sa_flags = SA_NODEFER | (depth % 2 == 0 ? SA_ONSTACK : 0);
  sigaction(SIGUSR1, &action, &before);
  std::raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
}

// The next shapes of all stacks come from the depth and a number.
unsigned shapes = 0;

[[gnu::noinline]] void go_deeper(int depth) {
  compare_walks();
  if (depth == 0 || testing::Test::HasFailure()) return;
  shapes = shapes * 1103515245 + 12345;
  const int next = depth - 1;
  switch (shapes >> 16 & 7) {
    case 0: return plain(next);
    case 1: return with_alloca(next);
    case 2: return aligned(next);
    case 3: return aligned_with_alloca(next);
    case 4: with_many_arguments(next, 1, 2, 3, 4, 5, 6, 7); return;
    case 5: return depth % 4 == 0 ? in_a_handler(next) : with_saved_registers(next);
    case 6: return next == 0 ? plain(next) : through_libc(next);
    default: return through_a_signal(next);
  }
}

// Signal handlers run there, above each other.
class signal_stack {
 public:
  signal_stack() {
    stack_t ours = {};
    ours.ss_sp = memory_.data();
    ours.ss_size = memory_.size();
    sigaltstack(&ours, &before_);
  }
  ~signal_stack() { sigaltstack(&before_, nullptr); }
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  std::vector<char> memory_ = std::vector<char>(1 << 20);
  stack_t before_ = {};
};

TEST(unwind, stacks_of_all_shapes_are_libgccs) {
  const signal_stack stack;
  walks = longest_walk = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    shapes = seed;
    go_deeper(30);
  }
  EXPECT_EQ(walks, 3100U);
  EXPECT_GT(longest_walk, 60U);
}

// ---- contexts ----

constexpr std::size_t fiber_bytes = 256 * 1024;
platform::context test_context;
platform::context fiber_context;
addresses seen_by_libgcc;

[[gnu::noinline]] void leave_fiber() {
  seen_by_libgcc.clear();
  _Unwind_Backtrace(&add_frame, &seen_by_libgcc);
  platform::switch_context(fiber_context, test_context);
}

[[gnu::noinline]] void leave_from_depth(int depth) {
  alignas(64) char buffer[64];
  use(buffer);
  if (depth == 0) {
    leave_fiber();
  } else {
    leave_from_depth(depth - 1);
  }
  use(buffer);
}

void run_fiber() {
  for (int depth = 0;; ++depth) leave_from_depth(depth);
}

TEST(unwind, a_saved_context_has_the_frames_of_its_stack) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "the switches are not announced";
  auto* memory = static_cast<std::byte*>(platform::map_memory(fiber_bytes, true));
  fiber_context = platform::make_context(memory + fiber_bytes, &run_fiber);
  const auto low = reinterpret_cast<std::uintptr_t>(memory);
  const own_stack stack{low, low + fiber_bytes};
  stack_walk fresh(platform::registers_of(fiber_context), stack.memory());
  EXPECT_FALSE(fresh.next());
  for (int depth = 0; depth < 20; ++depth) {
    platform::switch_context(test_context, fiber_context);
    std::array<std::uintptr_t, 100> buffer;
    const stack_walk walk(platform::registers_of(fiber_context), stack.memory());
    const std::size_t size = platform::collect_frames(walk, buffer);
    ASSERT_EQ(size, seen_by_libgcc.size());
    EXPECT_TRUE(std::equal(seen_by_libgcc.begin() + 1, seen_by_libgcc.end(), buffer.begin() + 1));
    EXPECT_EQ(buffer[size - 1], reinterpret_cast<std::uintptr_t>(&sley_goroutine_started));
  }
  platform::unmap_memory(memory, fiber_bytes);
}

// ---- memory that is not there ----

namespace {

void expect_reads_to_fail_where_no_memory_is() {
  auto* page = static_cast<std::byte*>(platform::map_memory(2 * platform::page_bytes(), true));
  const auto low = reinterpret_cast<std::uintptr_t>(page);
  const std::uintptr_t end = low + platform::page_bytes();
  ASSERT_EQ(::mprotect(page + platform::page_bytes(), platform::page_bytes(), PROT_NONE), 0);
  for (const own_stack& stack : {own_stack{low, end}, own_stack{}}) {
    std::uint64_t word = 1;
    EXPECT_TRUE(stack.memory().read_word(end - 8, word));
    EXPECT_EQ(word, 0U);
    for (const std::uintptr_t bad : {end, end - 7, std::uintptr_t{0}, std::uintptr_t{8},
                                     ~std::uintptr_t{0}, ~std::uintptr_t{0} - 7}) {
      EXPECT_FALSE(stack.memory().read_word(bad, word)) << bad;
    }
  }
  platform::unmap_memory(page, 2 * platform::page_bytes());
}

}  // namespace

TEST(unwind, a_read_of_memory_that_is_not_there_fails) {
  expect_reads_to_fail_where_no_memory_is();
}

// As in sandboxes and emulators.
TEST(unwind_death_test, reads_need_no_system_call_that_reads) {
  const auto reads_without_it = [](int error) {
    if (!sley_test::refuse({{SYS_process_vm_readv, error}})) std::_Exit(0);
    expect_reads_to_fail_where_no_memory_is();
    const std::array<std::uint64_t, 2> words = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    for (std::uint64_t i = 0; i <= sizeof(std::uint64_t); ++i) {
      std::uint64_t word = 0;
      const auto at = reinterpret_cast<std::uint64_t>(words.data()) + i;
      EXPECT_TRUE(own_stack{}.memory().read_word(at, word));
      EXPECT_EQ(word, words[0] + i * 0x0101010101010101);
    }
    std::_Exit(testing::Test::HasFailure());
  };
  EXPECT_EXIT(reads_without_it(EPERM), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(reads_without_it(ENOSYS), testing::ExitedWithCode(0), "");
}

// A copy keeps what was there, and has the rest as it is now.
TEST(unwind, a_copy_of_a_stack_is_of_one_moment) {
  auto* page = static_cast<std::byte*>(platform::map_memory(2 * platform::page_bytes(), true));
  const auto low = reinterpret_cast<std::uintptr_t>(page);
  const std::uintptr_t end = low + platform::page_bytes();
  ASSERT_EQ(::mprotect(page + platform::page_bytes(), platform::page_bytes(), PROT_NONE), 0);
  const platform::stack_copy inner(end - 64);
  std::memset(page, 1, platform::page_bytes());
  std::uint64_t word = 1;
  EXPECT_TRUE(inner.memory().read_word(end - 64, word));
  EXPECT_EQ(word, 0U);
  EXPECT_TRUE(inner.memory().read_word(end - 8, word));
  EXPECT_EQ(word, 0U);
  EXPECT_TRUE(inner.memory().read_word(end - 72, word));
  EXPECT_EQ(word, 0x0101010101010101U);
  EXPECT_FALSE(inner.memory().read_word(end, word));
  EXPECT_FALSE(inner.memory().read_word(end - 7, word));
  EXPECT_FALSE(platform::stack_copy(end).memory().read_word(end, word));
  platform::unmap_memory(page, 2 * platform::page_bytes());
}

// From each place of the stack, as if it were one where a function has just been called.
TEST(unwind, a_walk_from_a_wrong_place_ends) {
  std::array<std::uintptr_t, 1000> buffer;
  const frame_registers here = platform::registers_here();
  const own_stack none;
  for (std::uint64_t offset = 0; offset < 4096; ++offset) {
    frame_registers wrong = here;
    wrong.set(platform::column_sp, here.get(platform::column_sp) + offset);
    wrong.set(platform::column_frame_pointer, here.get(platform::column_sp) - offset);
    wrong.set(platform::column_pc, here.pc() + offset * 7);
    EXPECT_GE(platform::collect_frames(stack_walk(wrong, none.memory()), buffer), 1U);
  }
}

}  // namespace
