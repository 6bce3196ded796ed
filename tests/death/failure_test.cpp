// A fault or abort() in a goroutine: one line names the goroutine, its stack follows, and the
// process ends as it does without the library. Whatever is the program's own business stays so.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"
#include "support/test_cpu.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

using sley::run;
using sley_test::child_result;
using sley_test::contains_match;
using sley_test::goroutines_in;
using sley_test::run_child;
using sley_test::setting;
using sley_test::under_sanitizer;

namespace {

// --- ways to fail ---

[[gnu::noinline]] void use_a_wild_pointer() {
  auto* volatile wild = reinterpret_cast<volatile int*>(8);
  *wild = 1;
}
[[gnu::noinline]] void use_an_address_that_cannot_be() {
  auto* volatile wild = reinterpret_cast<volatile int*>(std::uintptr_t{0x4141414141414141});
  *wild = 1;
}
[[gnu::noinline]] void read_beyond_a_file() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const int file = ::memfd_create("empty", 0);
  void* place = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  *static_cast<volatile int*>(place) = 1;
}
[[gnu::noinline]] void divide_by_zero() {
  volatile int zero = 0;
  volatile int result = 42 / zero;
  static_cast<void>(result);
}
[[gnu::noinline]] void meet_no_instruction() { SLEY_TEST_EXECUTE_NO_INSTRUCTION(); }
[[gnu::noinline]] void give_up() {
  std::abort();
  sley_test::not_a_tail_call();
}

struct way_to_fail {
  const char* function;
  void (*fail)();
  int signal;
  const char* line;  // behind "sley: "
};
constexpr way_to_fail ways[] = {
    {"use_a_wild_pointer", use_a_wild_pointer, SIGSEGV, "SIGSEGV \\(address 0x8\\)"},
    {"use_an_address_that_cannot_be", use_an_address_that_cannot_be, SIGSEGV,
     "SIGSEGV( \\(address 0x[0-9a-f]+\\))?"},
    {"read_beyond_a_file", read_beyond_a_file, SIGBUS, "SIGBUS \\(address 0x[0-9a-f]+\\)"},
    {"divide_by_zero", divide_by_zero, SIGFPE, "SIGFPE"},
    {"meet_no_instruction", meet_no_instruction, SIGILL, "SIGILL"},
    {"give_up", give_up, SIGABRT, "SIGABRT"},
};

// The sanitizers have handlers of their own for all but SIGABRT.
bool fails_here(const way_to_fail& w) {
  if (w.signal == SIGFPE && !sley_test::divisions_by_zero_trap) return false;
  return !under_sanitizer || w.signal == SIGABRT;
}

void fail_as_told() {
  for (const way_to_fail& w : ways) {
    if (w.function == setting("FAIL")) w.fail();
  }
}

child_result run_failing(const std::string& name, const char* way,
                         const sley_test::environment& more = {}) {
  sley_test::environment all = more;
  all.emplace_back("FAIL", way);
  return run_child(name, all);
}

void expect_report(const child_result& child, const way_to_fail& w, const std::string& goroutine) {
  EXPECT_EQ(child.signal, w.signal) << child;
  EXPECT_TRUE(contains_match(child.err, std::string("^sley: ") + w.line + " in " + goroutine + "$"))
      << child;
  EXPECT_EQ(child.err.find("sley: "), 0U) << "nothing comes before: " << child;
  const auto shown = goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << child;
  sley_test::expect_frame(shown[0], w.function, "failure_test.cpp");
  const bool is_first = w.signal == SIGABRT || shown[0].lines.empty() ||
                        shown[0].lines[0].find(w.function) != std::string::npos;
  EXPECT_TRUE(is_first) << "the signal's own frames are left out: " << child;
}

}  // namespace

CHILD_MAIN(a_worker_fails) {
  return run([] {
    sley::go({.name = "worker"}, fail_as_told);
    sley::block_forever();
    return 3;
  });
}

TEST(failure, in_a_goroutine_is_named_and_ends_the_process_as_ever) {
  for (const way_to_fail& w : ways) {
    if (!fails_here(w)) continue;
    SCOPED_TRACE(w.function);
    expect_report(run_failing("a_worker_fails", w.function), w, "goroutine [0-9]+ \"worker\"");
  }
}

CHILD_MAIN(main_fails) {
  return run([] {
    fail_as_told();
    return 3;
  });
}
CHILD_MAIN(main_fails_on_this_thread) {
  return run(sley_test::on_this_thread, [] {
    fail_as_told();
    return 3;
  });
}
CHILD_MAIN(main_fails_in_a_call) {
  return run([] {
    sley::blocking(fail_as_told);
    return 3;
  });
}

TEST(failure, of_the_main_goroutine_is_reported_wherever_it_runs) {
  for (const char* child : {"main_fails", "main_fails_on_this_thread", "main_fails_in_a_call"}) {
    for (const way_to_fail& w : {std::cbegin(ways)[0], std::cend(ways)[-1]}) {
      if (!fails_here(w)) continue;
      SCOPED_TRACE(std::string(child) + " by " + w.function);
      expect_report(run_failing(child, w.function), w, "goroutine 1");
    }
  }
}

// --- what is not reported ---

CHILD_MAIN(a_thread_fails) {
  return run([] {
    std::thread([] {
      sley::chan<int>(1).send(1);
      fail_as_told();
    }).join();
    return 3;
  });
}

TEST(failure, of_a_thread_of_the_programs_is_not_reported) {
  for (const way_to_fail& w : ways) {
    if (!fails_here(w)) continue;
    const auto child = run_failing("a_thread_fails", w.function);
    EXPECT_EQ(child.signal, w.signal) << child;
    EXPECT_EQ(child.err, "") << child;
  }
}

TEST(failure, is_not_reported_if_a_setting_says_so) {
  for (const way_to_fail& w : ways) {
    if (!fails_here(w)) continue;
    const auto child =
        run_failing("a_worker_fails", w.function, {{"SLEYDEBUG", "failurereportoff=1"}});
    EXPECT_EQ(child.signal, w.signal) << child;
    EXPECT_EQ(child.err, "") << child;
  }
}

namespace {

void handle_all() {
  struct sigaction action = {};
  action.sa_handler = [](int signal) { ::_exit(40 + signal); };
  for (const way_to_fail& w : ways) ::sigaction(w.signal, &action, nullptr);
}

}  // namespace

CHILD_MAIN(a_handler_from_before) {
  handle_all();
  return run([] {
    fail_as_told();
    return 3;
  });
}
CHILD_MAIN(a_handler_from_after) {
  return run([] {
    handle_all();
    fail_as_told();
    return 3;
  });
}

TEST(failure, that_the_program_handles_is_its_own_business) {
  for (const char* name : {"a_handler_from_before", "a_handler_from_after"}) {
    for (const way_to_fail& w : ways) {
      if (!fails_here(w)) continue;
      const auto child = run_failing(name, w.function);
      EXPECT_EQ(child.status, 40 + w.signal) << child;
      EXPECT_EQ(child.err, "") << child;
    }
  }
}

// --- what is hard to report ---

namespace {

// Frames and return addresses further out are gone.
[[gnu::noinline]] void destroy_the_stack_and_fail() {
  constexpr std::size_t some = 256;
  std::memset(__builtin_frame_address(0), 0x41, some);
  use_a_wild_pointer();
}

[[gnu::noinline]] void call_nothing() {
  void (*volatile nothing)() = nullptr;
  nothing();
  sley_test::not_a_tail_call();
}

}  // namespace

CHILD_MAIN(fails_on_a_destroyed_stack) {
  return run([] {
    sley::go({.name = "worker"}, destroy_the_stack_and_fail);
    sley::block_forever();
    return 3;
  });
}
CHILD_MAIN(calls_nothing) {
  return run([] {
    sley::go({.name = "worker"}, call_nothing);
    sley::block_forever();
    return 3;
  });
}

TEST(failure, of_a_call_of_nothing_shows_the_caller) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  const auto child = run_child("calls_nothing");
  const auto shown = goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << child;
  sley_test::expect_frame(shown[0], "call_nothing", "failure_test.cpp");
}

TEST(failure, ends_the_process_by_its_signal_even_where_there_is_no_stack_to_show) {
  if (under_sanitizer) GTEST_SKIP() << "the sanitizers report it themselves";
  for (const char* name : {"fails_on_a_destroyed_stack", "calls_nothing"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.signal, SIGSEGV) << child;
    EXPECT_TRUE(contains_match(
        child.err, "^sley: SIGSEGV \\(address 0x[08]\\) in goroutine [0-9]+ \"worker\"$"))
        << child;
  }
}

CHILD_MAIN(all_fail_at_once) {
  return run([] {
    for (int i = 0; i < 8; ++i) sley::go(fail_as_told);
    sley::block_forever();
    return 3;
  });
}

TEST(failure, of_many_at_once_is_that_of_the_first) {
  for (const way_to_fail& w : {std::cbegin(ways)[0], std::cend(ways)[-1]}) {
    if (!fails_here(w)) continue;
    SCOPED_TRACE(w.function);
    expect_report(run_failing("all_fail_at_once", w.function), w, "goroutine [0-9]+");
  }
}
