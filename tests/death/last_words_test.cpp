// A report that the process ends with is not cut off, whatever else ends the process meanwhile.
// Each child begins a report, which takes some time, and then another end.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/slow_report.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using sley::run;
using sley_test::child_result;
using sley_test::expect_whole_report;
using sley_test::goroutines_in;
using sley_test::occurrences;
using sley_test::run_child;
using sley_test::start_a_report;
using sley_test::wait_for_a_report;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

CHILD_MAIN(main_returns) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    return 0;
  });
}
CHILD_MAIN(main_returns_without_run) {
  start_a_report();
  wait_for_a_report();
  return 0;
}
CHILD_MAIN(main_returns_on_this_thread) {
  return run(sley_test::on_this_thread, [] {
    start_a_report();
    wait_for_a_report();
    return 0;
  });
}
CHILD_MAIN(a_thread_exits) {
  return run([] {
    start_a_report();
    std::thread([] {
      wait_for_a_report();
      std::exit(5);
    }).join();
    return 0;
  });
}
CHILD_MAIN(a_goroutine_exits) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    std::exit(5);
    return 0;
  });
}
CHILD_MAIN(a_thread_quits_quickly) {
  return run([] {
    start_a_report();
    std::thread([] {
      wait_for_a_report();
      std::quick_exit(5);
    }).join();
    return 0;
  });
}
CHILD_MAIN(another_goroutine_throws) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    for (int i = 0; i < 10; ++i) {
      sley::go([] { throw std::runtime_error("another"); });
    }
    this_goroutine::sleep_for(sley_test::patience);
    return 0;
  });
}
CHILD_MAIN(a_fatal_error_comes_second) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    sley::mutex m;
    m.unlock();
    return 0;
  });
}
CHILD_MAIN(a_thread_throws) {
  return run([] {
    start_a_report();
    std::thread([] {
      wait_for_a_report();
      throw std::runtime_error("another");
    }).join();
    return 0;
  });
}
CHILD_MAIN(sigquit_comes_second) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    ::kill(::getpid(), SIGQUIT);
    return 0;
  });
}

TEST(last_words, of_an_uncaught_exception_are_not_cut_off) {
  for (const char* name :
       {"main_returns", "main_returns_without_run", "main_returns_on_this_thread", "a_thread_exits",
        "a_goroutine_exits", "a_thread_quits_quickly", "another_goroutine_throws",
        "a_fatal_error_comes_second", "a_thread_throws", "sigquit_comes_second"}) {
    SCOPED_TRACE(name);
    expect_whole_report(run_child(name));
  }
}

namespace {

std::atomic<bool> has_report_begun{false};

struct quick_to_say final : std::exception {
  const char* what() const noexcept override {
    has_report_begun = true;
    return "boom-42";
  }
};

void sleep_as_told() {
  this_goroutine::sleep_for(std::chrono::milliseconds(std::atoi(std::getenv("DELAY_MS"))));
}

}  // namespace

// Main returns some time after the report has begun, in the midst of looking for names.
CHILD_MAIN(main_returns_later) {
  return run([] {
    sley::go([] { throw quick_to_say(); });
    while (!has_report_begun) this_goroutine::yield();
    sleep_as_told();
    return 0;
  });
}

TEST(last_words, are_said_to_the_end_whenever_main_returns) {
  for (const char* delay_ms : {"1", "5", "20", "50", "100", "200"}) {
    const auto child = run_child("main_returns_later", {{"DELAY_MS", delay_ms}});
    EXPECT_EQ(child.signal, SIGABRT) << delay_ms << ": " << child;
    EXPECT_TRUE(sley_test::contains_match(child.err, "created by ")) << delay_ms << ": " << child;
  }
}

namespace {

constexpr int waiters = 60;

void start_waiters() {
  const sley::chan<int> never;
  for (int i = 0; i < waiters; ++i) sley_test::starts_one_here({.name = "waiter"}, never);
}

void expect_whole_dump(const child_result& child) {
  EXPECT_EQ(child.status, 2) << child;
  int shown = 0;
  for (const auto& g : goroutines_in(child.err))
    shown += g.header.find("waiter") != std::string::npos;
  EXPECT_EQ(shown, waiters) << child;
}

}  // namespace

CHILD_MAIN(a_fatal_error_while_main_returns) {
  return run([] {
    start_waiters();
    static std::atomic<bool> unlocks{false};
    sley::go([] {
      sley::mutex m;
      unlocks = true;
      m.unlock();
    });
    while (!unlocks) this_goroutine::yield();
    sleep_as_told();
    return 0;
  });
}
CHILD_MAIN(sigquit_while_main_returns) {
  return run([] {
    start_waiters();
    ::raise(SIGQUIT);
    return 0;
  });
}
CHILD_MAIN(sigquit_while_a_thread_exits) {
  sley::go([] {});
  std::thread([] {
    start_waiters();
    ::raise(SIGQUIT);
    std::exit(5);
  }).join();
  return 0;
}

TEST(last_words, of_all_goroutines_are_not_cut_off) {
  for (const char* name : {"sigquit_while_main_returns", "sigquit_while_a_thread_exits"}) {
    SCOPED_TRACE(name);
    expect_whole_dump(run_child(name));
  }
}

// Main returns before the report has begun, if the goroutine's thread gets no CPU for the delay.
TEST(last_words, of_a_fatal_error_are_not_cut_off) {
  child_result child;
  for (const char* delay_ms : {"5", "100", "2000"}) {
    child = run_child("a_fatal_error_while_main_returns", {{"DELAY_MS", delay_ms}});
    if (child.status != 0) break;
  }
  expect_whole_dump(child);
}

CHILD_MAIN(a_handler_exits) {
  std::set_terminate([] { std::exit(43); });
  return run([] {
    start_a_report();
    wait_for_a_report();
    return 0;
  });
}

// Its own end is not kept from the goroutine that has them.
TEST(last_words, let_a_terminate_handler_call_exit) {
  const auto child = run_child("a_handler_exits");
  EXPECT_EQ(child.status, 43) << child;
  EXPECT_EQ(goroutines_in(child.err).size(), 1U) << child;
}

CHILD_MAIN(a_child_process_exits) {
  return run([] {
    start_a_report();
    wait_for_a_report();
    const pid_t pid = ::fork();
    if (pid == 0) std::quick_exit(6);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 6) std::_Exit(3);
    return 0;
  });
}

TEST(last_words, do_not_keep_the_child_of_a_fork) {
  expect_whole_report(run_child("a_child_process_exits"));
}

// --- traces --------------------------------------------------------------------------------------

namespace {

std::string trace_path() { return std::getenv("TRACE_PATH"); }

void work() {
  sley::wait_group all;
  for (int i = 0; i < 100; ++i) all.go([] { this_goroutine::yield(); });
  all.wait();
}

}  // namespace

CHILD_MAIN(ends_with_a_trace_on) {
  return run([] {
    sley::debug::trace::start(trace_path());
    work();
    return 0;
  });
}
CHILD_MAIN(ends_while_a_trace_is_stopped) {
  return run([] {
    static std::atomic<bool> stops{false};
    sley::debug::trace::start(trace_path());
    work();
    sley::go([] {
      stops = true;
      sley::debug::trace::stop();
    });
    while (!stops) this_goroutine::yield();
    return 0;
  });
}

// They hold their locks, and have what these guard, while the program's objects are destroyed.
CHILD_MAIN(ends_while_traces_and_profiles_are_switched) {
  static std::atomic<int> rounds{0};
  return run([] {
    const auto repeat = [](auto switch_on_and_off) {
      sley::go([=] {
        for (;; this_goroutine::yield()) {
          switch_on_and_off();
          ++rounds;
        }
      });
    };
    repeat([] {
      sley::debug::trace::start("/dev/null");
      sley::debug::trace::stop();
    });
    repeat([] {
      sley::debug::cpu_profile::start();
      sley::debug::cpu_profile::stop();
    });
    repeat([] { sley::debug::delta_profile(sley::debug::profile_kind::wall, 1us); });
    while (rounds < 10) this_goroutine::yield();
    return 0;
  });
}

TEST(last_words, are_said_while_traces_and_profiles_are_switched) {
  if (sley_test::under_tsan) {
    GTEST_SKIP()
        << "it reports a thread that nothing has joined at the end, and libbacktrace, whose "
           "atomic operations it does not see";
  }
  for (int i = 0; i < 20; ++i) {
    const auto child = run_child("ends_while_traces_and_profiles_are_switched");
    EXPECT_EQ(child.status, 0) << child;
    EXPECT_EQ(child.err, "");
  }
}

TEST(last_words, of_a_trace_are_written) {
  const std::string path = "/tmp/sley_last_words." + std::to_string(::getpid()) + ".json";
  for (const char* name : {"ends_with_a_trace_on", "ends_while_a_trace_is_stopped"}) {
    for (int i = 0; i < 10; ++i) {
      const auto child = run_child(name, {{"TRACE_PATH", path}});
      EXPECT_EQ(child.status, 0) << name << child;
      std::ifstream in(path);
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      EXPECT_NE(text.find("\n]"), std::string::npos) << name << ": " << text;
      std::filesystem::remove(path);
    }
  }
}

// --- std::terminate() ---------------------------------------------------------------------------

namespace {

[[gnu::noinline]] void throws_42_here() { throw std::runtime_error("boom-42"); }
[[gnu::noinline]] void calls_a_noexcept_function() noexcept {
  throws_42_here();
  sley_test::not_a_tail_call();
}
[[gnu::noinline]] void leaves_a_thread_alone() {
  std::thread thread([] {});
  sley_test::not_a_tail_call();
}

void expect_termination(const child_result& child, const std::string& frame) {
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_TRUE(
      sley_test::contains_match(child.err, "^sley: std::terminate\\(\\) in goroutine [0-9]+"))
      << child;
  const auto shown = goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << child;
  sley_test::expect_frame(shown[0], frame, "last_words_test.cpp");
}

}  // namespace

CHILD_MAIN(main_leaves_a_noexcept_function) {
  return run([] {
    calls_a_noexcept_function();
    return 0;
  });
}
CHILD_MAIN(a_goroutine_leaves_a_noexcept_function) {
  return run([] {
    sley::go([] { calls_a_noexcept_function(); });
    this_goroutine::sleep_for(sley_test::patience);
    return 0;
  });
}
CHILD_MAIN(main_leaves_a_thread_alone) {
  return run([] {
    leaves_a_thread_alone();
    return 0;
  });
}

TEST(terminate, shows_the_stack_of_the_goroutine_that_calls_it) {
#ifdef __clang__  // it leaves the frames of the throw before it terminates
  const std::string thrower = "calls_a_noexcept_function";
#else
  const std::string thrower = "throws_42_here";
#endif
  expect_termination(run_child("main_leaves_a_noexcept_function"), thrower);
  expect_termination(run_child("a_goroutine_leaves_a_noexcept_function"), thrower);
  expect_termination(run_child("main_leaves_a_thread_alone"), "leaves_a_thread_alone");
}
