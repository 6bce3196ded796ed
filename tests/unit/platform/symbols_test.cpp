// Aim: a dump can say where a goroutine is: functions by their full names, inlined ones too, files
// and lines, in a program that is about to die. Method: functions whose place is known describe
// their own callers; addresses of other kinds are described as well.
#include "platform/symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "platform/build_id.hpp"
#include "platform/line_tables.hpp"
#include "platform/os.hpp"
#include "support/line_numbers.hpp"
#include "support/linkage.hpp"

namespace platform = sley::platform;

namespace {

using sley::platform::frame_name;

// A frame that outlives the visit.
struct frame {
  std::string function;  // readable
  std::string file;
  int line;
  bool is_inlined;
  std::uintptr_t function_start;

  bool operator==(const frame&) const = default;
};

std::string readable(std::string_view name) {
  char buffer[1000];
  return std::string(platform::demangle(name, buffer, true));
}

using describer = void(std::uintptr_t, platform::frame_visitor, void*);

std::vector<frame> frames_of(std::uintptr_t pc, describer& describe = platform::describe) {
  std::vector<frame> frames;
  const auto add = [](void* arg, const frame_name& f) {
    static_cast<std::vector<frame>*>(arg)->push_back(
        {readable(f.function), std::string(f.file), f.line, f.is_inlined, f.function_start});
  };
  describe(pc, add, &frames);
  return frames;
}

template <class Function>
std::uintptr_t address_of(Function* f) {
  return reinterpret_cast<std::uintptr_t>(f);
}

bool lines_are_known() { return platform::knows_lines() && sley_test::has_line_numbers(); }

// ---- functions in known places ----

// Where the caller goes on.
[[gnu::noinline]] std::uintptr_t return_address() {
  asm volatile("");
  return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

// Keeps a call from being the last thing that a function does, which would make it a jump.
std::uintptr_t not_last(std::uintptr_t pc) {
  asm volatile("" : "+r"(pc));
  return pc;
}

}  // namespace

namespace symbols_test {

constexpr int call_line = __LINE__ + 1;
[[gnu::noinline]] std::uintptr_t plain_function() { return not_last(return_address()); }

template <class T>
[[gnu::always_inline]] inline std::uintptr_t innermost(T) {
  return not_last(return_address());
}
[[gnu::always_inline]] inline std::uintptr_t middle() { return innermost(1.5); }
[[gnu::noinline]] std::uintptr_t outer_function() { return middle(); }
constexpr int outer_line = __LINE__ - 1;

}  // namespace symbols_test

namespace {

namespace inner {
[[gnu::noinline]] std::uintptr_t local_function(std::uintptr_t (*f)()) {
  f();
  return not_last(return_address());
}
}  // namespace inner

// ---- what a dying program asks for ----

// Runs f() as a signal handler on an alternate stack. Returns how much of that it took.
template <class Function>
std::size_t stack_bytes_taken(Function f) {
  static std::array<char, 64 * 1024> stack;
  static Function* handler;
  stack.fill('x');
  handler = &f;
  stack_t stack_before;
  const stack_t ours = {.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  EXPECT_EQ(sigaltstack(&ours, &stack_before), 0);
  struct sigaction action_before;
  struct sigaction action = {};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) { (*handler)(); };
  EXPECT_EQ(sigaction(SIGUSR1, &action, &action_before), 0);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &action_before, nullptr);
  sigaltstack(&stack_before, nullptr);
  const auto untouched = std::find_if(stack.begin(), stack.end(), [](char c) { return c != 'x'; });
  return static_cast<std::size_t>(stack.end() - untouched);
}

// Comes first: only the first lookup reads the tables.
TEST(symbols, the_first_lookup_needs_no_malloc_and_fits_on_a_signal_stack) {
  const std::uintptr_t pc = symbols_test::plain_function();
  int frames = 0;
  const struct mallinfo2 before = mallinfo2();
  const std::size_t stack_bytes = stack_bytes_taken([&] {
    platform::describe(
        pc, [](void* arg, const frame_name&) { ++*static_cast<int*>(arg); }, &frames);
  });
  const struct mallinfo2 after = mallinfo2();
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(after.uordblks, before.uordblks) << "of the heap";
  EXPECT_EQ(after.hblkhd, before.hblkhd) << "of mappings made by malloc";
  EXPECT_LT(stack_bytes, 32U * 1024);
}

TEST(symbols, a_function_has_its_name_file_and_line) {
  const std::vector<frame> frames = frames_of(symbols_test::plain_function());
  ASSERT_EQ(frames.size(), 1U);
  if (!lines_are_known()) GTEST_SKIP() << "no libbacktrace or no debug information";
  EXPECT_EQ(frames[0].function, "symbols_test::plain_function()");
  EXPECT_TRUE(frames[0].file.ends_with("unit/platform/symbols_test.cpp")) << frames[0].file;
  EXPECT_EQ(frames[0].line, symbols_test::call_line);
  EXPECT_FALSE(frames[0].is_inlined);
  EXPECT_EQ(frames[0].function_start, address_of(&symbols_test::plain_function));
}

TEST(symbols, inlined_functions_come_before_the_one_they_are_in) {
  if (!lines_are_known()) GTEST_SKIP() << "no libbacktrace or no debug information";
  const std::vector<frame> frames = frames_of(symbols_test::outer_function());
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_NE(frames[0].function.find("innermost"), std::string::npos) << frames[0].function;
  EXPECT_NE(frames[1].function.find("middle"), std::string::npos) << frames[1].function;
  EXPECT_EQ(frames[2].function, "symbols_test::outer_function()");
  EXPECT_TRUE(frames[0].is_inlined);
  EXPECT_TRUE(frames[1].is_inlined);
  EXPECT_FALSE(frames[2].is_inlined);
  EXPECT_LT(frames[0].line, frames[1].line);
  EXPECT_EQ(frames[2].line, symbols_test::outer_line);
  for (const frame& f : frames) {
    EXPECT_TRUE(f.file.ends_with("symbols_test.cpp")) << f.file;
    EXPECT_EQ(f.function_start, address_of(&symbols_test::outer_function));
  }
}

TEST(symbols, a_local_function_has_its_namespaces) {
  if (!platform::knows_lines()) GTEST_SKIP() << "no libbacktrace";
  const std::vector<frame> frames = frames_of(inner::local_function(&return_address));
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function.find("(anonymous namespace)::inner::local_function("), 0U)
      << frames[0].function;
  EXPECT_EQ(frames[0].function_start, address_of(&inner::local_function));
}

TEST(symbols, a_return_address_belongs_to_the_call_before_it) {
  if (!platform::knows_lines()) GTEST_SKIP() << "no libbacktrace";
  const std::uintptr_t start = address_of(&symbols_test::plain_function);
  const std::vector<frame> in = frames_of(start + 1);
  ASSERT_EQ(in.size(), 1U);
  EXPECT_EQ(in[0].function, "symbols_test::plain_function()");
  for (const frame& f : frames_of(start)) EXPECT_NE(f.function, in[0].function);
}

// Of libc; a program that is linked dynamically may have a stub under this name.
std::uintptr_t start_of_l64a() {
  if (sley_test::is_linked_statically()) return address_of(&l64a);
  return address_of(static_cast<char*>(dlsym(RTLD_DEFAULT, "l64a")));
}

TEST(symbols, a_library_function_has_its_name) {
  const std::uintptr_t start = start_of_l64a();
  ASSERT_NE(start, 0U);
  const std::vector<frame> frames = frames_of(start + 1);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "l64a");
  EXPECT_EQ(frames.back().function_start, start);
  EXPECT_NE(frames.back().file, "");
}

dl_phdr_info program_as_loaded() {
  dl_phdr_info program = {};
  const auto take_first = [](dl_phdr_info* first, std::size_t, void* to) {
    *static_cast<dl_phdr_info*>(to) = *first;
    return 1;
  };
  dl_iterate_phdr(take_first, &program);
  return program;
}

// Otherwise the first report of a program would read the debug information of all its libraries.
TEST(symbols, each_file_is_read_by_itself) {
  if (!platform::knows_lines()) GTEST_SKIP() << "no libbacktrace";
  if (sley_test::is_linked_statically()) GTEST_SKIP() << "one file";
  const std::uintptr_t here = symbols_test::plain_function() - 1;
  const std::uintptr_t there = start_of_l64a();
  const platform::line_tables of_program = platform::line_tables_with(here);
  ASSERT_NE(of_program.state, nullptr);
  EXPECT_EQ(platform::line_tables_with(here).state, of_program.state);
  EXPECT_NE(platform::line_tables_with(there).state, of_program.state);
  EXPECT_NE(platform::symbol_at(of_program, here).function, "");
  EXPECT_EQ(platform::symbol_at(of_program, there).function, "");
}

#ifdef SLEY_TEST_PLUGIN
TEST(symbols, a_library_that_is_loaded_later_has_lines) {
  if (!lines_are_known()) GTEST_SKIP() << "no libbacktrace or no debug information";
  ASSERT_FALSE(frames_of(symbols_test::plain_function()).empty());
  ASSERT_FALSE(frames_of(start_of_l64a() + 1).empty());
  void* const plugin = dlopen(SLEY_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  const std::uintptr_t start = address_of(static_cast<char*>(dlsym(plugin, "of_a_plugin")));
  const std::vector<frame> frames = frames_of(start + 1);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "of_a_plugin");
  EXPECT_TRUE(frames[0].file.ends_with("unit/platform/plugin.cpp")) << frames[0].file;
  EXPECT_EQ(frames[0].line, 5);
  EXPECT_EQ(frames[0].function_start, start);
}
#endif

TEST(symbols, a_file_need_not_be_loaded) {
  if (!platform::knows_lines()) GTEST_SKIP() << "no libbacktrace";
  constexpr std::uintptr_t bias = 0x10000000;
  const dl_phdr_info program = program_as_loaded();
  const platform::file_symbols symbols("/proc/self/exe", bias);
  const std::uintptr_t start = address_of(&symbols_test::plain_function);
  frame_name seen;
  ASSERT_TRUE(symbols.describe(
      start - program.dlpi_addr + bias + 1,
      [](void* to, const frame_name& f) { *static_cast<frame_name*>(to) = f; }, &seen));
  EXPECT_EQ(readable(seen.function), "symbols_test::plain_function()");
  EXPECT_EQ(seen.function_start, start - program.dlpi_addr + bias);
  EXPECT_FALSE(platform::file_symbols("/no/such/file", bias).describe(start, nullptr, nullptr));
}

TEST(symbols, without_lines_there_are_the_loaders_names_and_files) {
  if (sley_test::is_linked_statically()) GTEST_SKIP() << "no loader knows names of it";
  const std::uintptr_t start = start_of_l64a();
  const std::vector<frame> frames = frames_of(start + 1, platform::describe_by_loader);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].function, "l64a");
  EXPECT_EQ(frames[0].function_start, start);
  EXPECT_NE(frames[0].file.find("libc"), std::string::npos) << frames[0].file;
  EXPECT_EQ(frames[0].line, 0);
}

TEST(symbols, without_lines_a_programs_own_function_has_at_least_its_file) {
  const std::vector<frame> frames =
      frames_of(symbols_test::plain_function(), platform::describe_by_loader);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_NE(frames[0].file, "");
  EXPECT_EQ(frames[0].line, 0);
  EXPECT_FALSE(frames[0].is_inlined);
}

TEST(symbols, without_lines_an_address_is_the_one_in_the_file_with_its_build_id) {
  const dl_phdr_info program = program_as_loaded();
  const std::uintptr_t pc = symbols_test::plain_function();
  frame_name seen;
  platform::describe_by_loader(
      pc, [](void* to, const frame_name& f) { *static_cast<frame_name*>(to) = f; }, &seen);
  EXPECT_EQ(seen.address_in_file, pc - 1 - program.dlpi_addr);
  const auto id =
      platform::find_build_id({program.dlpi_phdr, program.dlpi_phnum}, program.dlpi_addr);
  EXPECT_EQ(seen.build_id.data(), id.data());
  EXPECT_EQ(seen.build_id.size(), id.size());
}

TEST(symbols, nowhere_is_not_described) {
  static int data = 0;
  const auto heap = std::vector<int>(100);
  const int local = 0;
  for (const std::uintptr_t pc :
       {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{16}, std::uintptr_t{UINTPTR_MAX},
        std::uintptr_t{1} << 63, address_of(heap.data()), address_of(&local)}) {
    EXPECT_EQ(frames_of(pc), std::vector<frame>()) << pc;
    EXPECT_EQ(frames_of(pc, platform::describe_by_loader), std::vector<frame>()) << pc;
  }
  frames_of(address_of(&data));  // in the program's file, though not code: no crash is enough
}

TEST(symbols, threads_may_look_up_at_the_same_time) {
  const std::uintptr_t pc = symbols_test::outer_function();
  const std::vector<frame> expected = frames_of(pc);
  std::array<std::vector<frame>, 4> seen;
  std::vector<std::thread> threads;
  for (auto& mine : seen) threads.emplace_back([&mine, pc] { mine = frames_of(pc); });
  for (std::thread& t : threads) t.join();
  for (const auto& frames : seen) EXPECT_EQ(frames, expected);
}

// ---- names ----

TEST(symbols, names_become_readable) {
  EXPECT_EQ(readable("_ZN4sley8platform10demangle_1Ei"), "sley::platform::demangle_1(int)");
  EXPECT_EQ(readable("main"), "main");
  EXPECT_EQ(readable("f"), "f") << "the code of a type, but no type's name is asked for";
  EXPECT_EQ(readable("_Zwhatever"), "_Zwhatever");
  EXPECT_EQ(readable(""), "");
}

TEST(symbols, a_name_need_not_be_terminated) {
  constexpr std::string_view more = "_ZN1a1bEv_and_more";
  char buffer[100];
  EXPECT_EQ(platform::demangle(more.substr(0, 9), buffer, true), "a::b()");
}

TEST(symbols, a_readable_name_is_cut_to_the_buffer) {
  char buffer[4];
  EXPECT_EQ(platform::demangle("_ZN5outer5innerEv", buffer, true), "oute");
  EXPECT_EQ(platform::demangle("_ZN5outer5innerEv", {}, true), "");
}

TEST(symbols, without_malloc_a_name_stays_as_it_is) {
  char buffer[100];
  EXPECT_EQ(platform::demangle("_ZN5outer5innerEv", buffer, false), "_ZN5outer5innerEv");
}

}  // namespace
