// A second end of the process while a report is printed: a thread that aborts or faults, an exit,
// the return of main. The report comes out whole, and the process ends as it says.
#include "runtime/state/sched_state.hpp"
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/slow_report.hpp"
#include "support/text.hpp"
#include "support/test_cpu.hpp"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using sley::run;
using sley_test::goroutines_in;
using sley_test::run_child;
using sley_test::setting;

namespace {

// --- ends ---

void fault_here() {
  volatile int* volatile null = nullptr;
  *null = 1;
}
void meet_a_bus_error() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const int file = ::memfd_create("empty", 0);
  void* place = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  *static_cast<volatile int*>(place) = 1;
}
void divide_by_zero() {
  volatile int zero = 0;
  volatile int result = 42 / zero;
  static_cast<void>(result);
}

struct way_to_end {
  std::string_view name;
  void (*end)();
};

constexpr way_to_end failures[] = {
    {"abort", [] { std::abort(); }},
    {"SIGSEGV", fault_here},
    {"SIGBUS", meet_a_bus_error},
    {"SIGFPE", divide_by_zero},
    {"SIGILL", [] { SLEY_TEST_EXECUTE_NO_INSTRUCTION(); }},
};
constexpr way_to_end requests[] = {
    {"exit", [] { std::exit(5); }},
    {"quick_exit", [] { std::quick_exit(5); }},
    {"terminate", [] { throw std::runtime_error("another"); }},
};

void end_as_told() {
  for (const way_to_end& w : failures) {
    if (w.name == setting("END")) w.end();
  }
  for (const way_to_end& w : requests) {
    if (w.name == setting("END")) w.end();
  }
}

// Sanitizers have handlers of their own for faults.
bool ends_here(const way_to_end& w) {
  if (w.name == "SIGFPE" && !sley_test::divisions_by_zero_trap) return false;
  return !sley_test::under_sanitizer || w.name == "abort";
}

}  // namespace

// --- the report of an exception ------------------------------------------------------------------

CHILD_MAIN(a_thread_ends) {
  return run([] {
    sley_test::start_a_report();
    std::thread([] {
      sley_test::wait_for_a_report();
      end_as_told();
    }).join();
    return 0;
  });
}
CHILD_MAIN(the_main_goroutine_ends) {
  return run([] {
    sley_test::start_a_report();
    sley_test::wait_for_a_report();
    end_as_told();
    return 0;
  });
}

TEST(second_failure, waits_for_the_report_of_an_exception) {
  for (const char* child : {"a_thread_ends", "the_main_goroutine_ends"}) {
    for (const way_to_end& w : failures) {
      if (!ends_here(w)) continue;
      SCOPED_TRACE(std::string(child) + " by " + std::string(w.name));
      sley_test::expect_whole_report(run_child(child, {{"END", std::string(w.name)}}));
    }
  }
}

CHILD_MAIN(ends_at_once) {
  return run([] {
    sley_test::start_a_report();
    sley_test::wait_for_a_report();
    ::_exit(5);
    return 0;
  });
}

CHILD_MAIN(is_ended_by_a_signal) {
  return run([] {
    sley_test::start_a_report();
    sley_test::wait_for_a_report();
    ::kill(::getpid(), SIGABRT);
    ::pause();
    return 0;
  });
}

// The sender does not wait for a report.
TEST(second_failure, that_a_process_sends_ends_the_process_at_once) {
  const auto child = run_child("is_ended_by_a_signal");
  EXPECT_EQ(child.signal, SIGABRT) << child;
}

// Nothing can hold off _exit(2).
TEST(second_failure, finds_the_first_line_printed_even_if_it_is_an_exit_at_once) {
  const auto child = run_child("ends_at_once");
  EXPECT_EQ(child.status, 5) << child;
  EXPECT_TRUE(sley_test::contains_match(
      child.err, "^sley: uncaught exception in goroutine [0-9]+ \"worker-7\": .*slow_to_say"))
      << child;
}

// --- reports that show all goroutines ------------------------------------------------------------

namespace {

constexpr int waiters = 60;

// Not a tail call, and of no known depth.
[[gnu::noinline]] int recurse(int depth) {
  volatile char page[512];
  page[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : recurse(depth + 1) + page[0];
}

constexpr way_to_end reports[] = {
    {"fatal error",
     [] {
       sley::mutex m;
       m.unlock();
     }},
    {"overflow", [] { static_cast<void>(recurse(0)); }},
    {"SIGQUIT", [] { ::kill(::getpid(), SIGQUIT); }},
};

void begin_as_told() {
  for (const way_to_end& w : reports) {
    if (w.name == setting("REPORT")) w.end();
  }
}

void start_waiters() {
  const sley::chan<int> never;
  for (int i = 0; i < waiters; ++i) sley_test::starts_one_here({.name = "waiter"}, never);
}

// Returns while the goroutines are being printed: the scheduler is halted for that. It calls
// nothing of the library, which would wait then.
void wait_for_a_dump() {
  while (!sley::rt::sched.gate.is_halted()) ::usleep(100);
}

}  // namespace

CHILD_MAIN(ends_during_a_dump) {
  return run([] {
    start_waiters();
    std::thread other([] {
      wait_for_a_dump();
      end_as_told();
    });
    sley::go(begin_as_told);
    wait_for_a_dump();
    if (setting("END") != "return") other.join();
    other.detach();
    return 0;
  });
}

TEST(second_failure, waits_for_the_stacks_of_all_goroutines) {
  std::vector<std::string_view> ends = {"return"};
  for (const way_to_end& w : failures) {
    if (ends_here(w)) ends.push_back(w.name);
  }
  for (const way_to_end& w : requests) ends.push_back(w.name);
  for (const way_to_end& report : reports) {
    if (report.name == "overflow" && sley_test::under_sanitizer) continue;
    for (const std::string_view end : ends) {
      const auto child = run_child(
          "ends_during_a_dump", {{"REPORT", std::string(report.name)}, {"END", std::string(end)}});
      SCOPED_TRACE(std::string(report.name) + " and " + std::string(end));
      EXPECT_EQ(child.status, 2) << child;
      int shown = 0;
      for (const auto& g : goroutines_in(child.err)) {
        shown += g.header.find("waiter") != std::string::npos;
      }
      EXPECT_EQ(shown, waiters) << child;
    }
  }
}

// --- without a report ----------------------------------------------------------------------------

CHILD_MAIN(fails_alone) {
  return run([] {
    sley::async([] {}).get();
    end_as_told();
    return 0;
  });
}

TEST(second_failure, ends_the_process_by_its_signal_if_it_is_the_first) {
  constexpr int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  static_assert(std::size(signals) == std::size(failures));
  for (std::size_t i = 0; i < std::size(failures); ++i) {
    if (!ends_here(failures[i])) continue;
    const auto child = run_child("fails_alone", {{"END", std::string(failures[i].name)}});
    EXPECT_EQ(child.signal, signals[i]) << failures[i].name << ": " << child;
    EXPECT_TRUE(sley_test::contains_match(child.err, "^sley: SIG.* in goroutine 1$")) << child;
  }
}
