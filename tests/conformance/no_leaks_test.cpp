// debug::no_leaks finds the goroutines that descend from a test, and no others. The listener of
// <sley/gtest.hpp> is tried in a child process, in which a test fails. Go's goleak can't tell
// parallel tests apart; this one does.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <sley/debug.hpp>
#include <sley/gtest.hpp>
#include <sley/net.hpp>
#include <sley/signal.hpp>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using sley::chan;
using sley::debug::no_leaks;
using namespace std::chrono_literals;

// What the guard of f says.
std::string report_of(const std::function<void()>& f) {
  std::string said;
  {
    const no_leaks guard([&](const std::string& report) { said = report; });
    f();
  }
  return said;
}

[[gnu::noinline]] void waits_in_vain(const chan<void>& never) {
  never.receive();
  asm volatile("");  // no tail call
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

GO_TEST(no_leaks, says_nothing_when_all_have_ended) {
  EXPECT_EQ(report_of([] {
              sley::wait_group all;
              for (int i = 0; i < 100; ++i) all.go([] { sley::this_goroutine::yield(); });
              all.wait();
            }),
            "");
}

GO_TEST(no_leaks, waits_for_goroutines_that_are_about_to_end) {
  EXPECT_EQ(report_of([] { sley::go([] { sley::this_goroutine::sleep_for(50ms); }); }), "");
}

GO_TEST(no_leaks, names_a_goroutine_that_is_left_with_its_stack) {
  chan<void> never(0);
  const std::string report = report_of(
      [&] { sley::go(sley::go_options{.name = "forgotten"}, [never] { waits_in_vain(never); }); });
  EXPECT_TRUE(report.starts_with("1 goroutine has not ended:\n\ngoroutine ")) << report;
  EXPECT_TRUE(has(report, "\"forgotten\" [chan receive]:\n")) << report;
  EXPECT_TRUE(has(report, "waits_in_vain")) << report;
  EXPECT_TRUE(has(report, "created by ")) << report;
  never.close();
}

GO_TEST(no_leaks, finds_grandchildren_of_parents_that_have_ended) {
  chan<void> never(0);
  const std::string report = report_of([&] {
    sley::go([never] {
      sley::go([never] {
        sley::this_goroutine::set_name("child");  // this keeps the family
        sley::go([never] { waits_in_vain(never); });
        sley::go([never] { waits_in_vain(never); });
      });
    });
  });
  EXPECT_TRUE(report.starts_with("2 goroutines have not ended:\n\n")) << report;
  never.close();
}

// Each goroutine starts the next one and ends, while the guard looks.
void start_chain(int length, const chan<void>& never) {
  sley::go([length, never] {
    if (length == 0) return waits_in_vain(never);
    sley::this_goroutine::yield();
    start_chain(length - 1, never);
  });
}

GO_TEST(no_leaks, misses_no_goroutine_that_starts_while_its_parent_ends) {
  for (const int length : {1, 10, 100, 1000}) {
    chan<void> never(0);
    const std::string report = report_of([&] { start_chain(length, never); });
    EXPECT_TRUE(report.starts_with("1 goroutine has not ended:\n\n")) << report;
    never.close();
  }
}

GO_TEST(no_leaks, leaves_out_goroutines_from_before_it_and_after_it) {
  chan<void> never(0);
  sley::go([never] { waits_in_vain(never); });
  chan<void> come(0);
  sley::go([=] {
    come.receive();
    sley::go([never] { waits_in_vain(never); });
    come.send();
  });
  EXPECT_EQ(report_of([&] {
              come.send();
              come.receive();
            }),
            "");
  sley::go([never] { waits_in_vain(never); });
  EXPECT_EQ(report_of([] {}), "");
  never.close();
}

GO_TEST(no_leaks, tells_parallel_tests_apart) {
  constexpr std::size_t tests = 4;
  chan<void> never(0);
  std::vector<std::string> reports(tests);
  sley::wait_group all;
  for (std::size_t i = 0; i < tests; ++i) {
    all.go([&, i] {
      reports[i] = report_of([&, i] {
        sley::wait_group own;
        own.go([] { sley::this_goroutine::yield(); });
        if (i == 2) sley::go([never] { waits_in_vain(never); });
        own.wait();
      });
    });
  }
  all.wait();
  for (std::size_t i = 0; i < tests; ++i) EXPECT_EQ(!reports[i].empty(), i == 2) << reports[i];
  never.close();
}

GO_TEST(no_leaks, an_outer_guard_has_the_goroutines_of_inner_ones_that_have_not_ended) {
  chan<void> never(0);
  chan<void> is_ready(0);
  std::string inner;
  const std::string outer = report_of([&] {
    sley::go([&] {
      inner = report_of([&] {
        sley::go([never] { waits_in_vain(never); });
        is_ready.send();
        never.receive();
      });
      is_ready.send();
    });
    is_ready.receive();
  });
  EXPECT_TRUE(outer.starts_with("2 goroutines have not ended:\n\n")) << outer;
  never.close();
  is_ready.receive();
  EXPECT_EQ(inner, "");
}

GO_TEST(no_leaks, a_goroutine_that_an_inner_guard_has_told_of_is_not_told_again) {
  chan<void> never(0);
  std::string inner;
  const std::string outer =
      report_of([&] { inner = report_of([&] { sley::go([never] { waits_in_vain(never); }); }); });
  EXPECT_TRUE(inner.starts_with("1 goroutine has not ended:\n\n")) << inner;
  EXPECT_EQ(outer, "");
  never.close();
}

GO_TEST(no_leaks, the_goroutine_of_a_timers_function_belongs_to_the_timers_maker) {
  chan<void> never(0);
  chan<void> has_begun(0);
  const std::string report = report_of([&] {
    const sley::timer t = sley::after_func(1ms, [=] {
      has_begun.send();
      waits_in_vain(never);
    });
    has_begun.receive();
  });
  EXPECT_TRUE(report.starts_with("1 goroutine has not ended:\n\n")) << report;
  never.close();
}

GO_TEST(no_leaks, goroutines_for_the_whole_process_do_not_belong_to_it) {
  EXPECT_EQ(report_of([] {
              sley::os::notify(sley::chan<int>(1), SIGUSR1);
              static_cast<void>(sley::net::lookup("localhost"));
            }),
            "");
  sley::os::reset_signal(SIGUSR1);
}

GO_TEST(no_leaks, refuses_an_empty_function) {
  EXPECT_THROW(no_leaks{nullptr}, std::invalid_argument);
}

FOREIGN_TEST(no_leaks, on_a_thread_finds_what_its_runs_and_goroutines_leave) {
  chan<void> never(0);
  for (const bool on_this_thread : {false, true}) {
    const std::string report = report_of([&] {
      sley::go([never] { waits_in_vain(never); });
      sley::run({.on_this_thread = on_this_thread}, [never] {
        sley::go([never] { waits_in_vain(never); });
        return 0;
      });
    });
    EXPECT_TRUE(report.starts_with("2 goroutines have not ended:\n\n")) << report;
  }
  never.close();
}

FOREIGN_TEST(no_leaks, on_a_new_thread_is_its_first_use_of_the_library) {
  std::thread([] { EXPECT_EQ(report_of([] {}), ""); }).join();
}

// ---- the listener ----

chan<void>& never_closed() {
  static chan<void>& never = *new chan<void>(0);
  return never;
}

TEST(DISABLED_listener, test_that_leaks) {
  sley::run([] { sley::go([] { waits_in_vain(never_closed()); }); });
}

TEST(DISABLED_listener, test_that_does_not) {
  sley::run([] {
    sley::wait_group all;
    all.go([] {});
    all.wait();
  });
}

CHILD_MAIN(tests_with_the_listener) {
  testing::GTEST_FLAG(also_run_disabled_tests) = true;
  testing::GTEST_FLAG(filter) = "DISABLED_listener.*";
  sley::debug::fail_tests_that_leak();
  return RUN_ALL_TESTS();
}

TEST(no_leaks_listener, fails_the_test_that_leaks_alone) {
  const auto child = sley_test::run_child("tests_with_the_listener");
  EXPECT_EQ(child.status, 1) << child;
  EXPECT_TRUE(has(child.out, "[  FAILED  ] DISABLED_listener.test_that_leaks")) << child;
  EXPECT_TRUE(has(child.out, "[       OK ] DISABLED_listener.test_that_does_not")) << child;
  EXPECT_TRUE(has(child.out, "waits_in_vain")) << child;
}

}  // namespace
