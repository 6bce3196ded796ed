// Aim: a flight recorder leaves what happened last, however the process ends by a failure; and the
// end is as it was.
#include "support/child.hpp"
#include "support/chrome_trace.hpp"
#include "support/harness.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace trace = sley::debug::trace;
using sley::run;
using sley_test::child_result;
using sley_test::run_child;
using sley_test::trace_path;

namespace {

// Notes something in a goroutine, which then ends the process.
template <class F>
int end_by(F f) {
  return run([&] {
    const trace::flight_recorder recorder(
        {.on_death = std::string(sley_test::setting("RECORD_AT"))});
    sley::go({.name = "the last"}, [&] {
      trace::log("this is the end");
      f();
    });
    sley::chan<int>().receive();
    return 0;
  });
}

child_result expect_a_record_of(const char* name) {
  const trace_path file;
  const child_result child = run_child(name, {{"RECORD_AT", file.path()}});
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.err.find("sley: the last events are in " + file.path()), std::string::npos)
      << child;
  const auto logs = file.marks("i");
  EXPECT_EQ(logs.size(), 1u);
  if (!logs.empty()) {
    EXPECT_EQ(logs[0].name, "this is the end");
  }
  EXPECT_FALSE(sley_test::runs_of(file.runs(), "the last, goroutine ").empty());
  EXPECT_TRUE(file.text().ends_with("}\n"));
  return child;
}

}  // namespace

CHILD_MAIN(throws) {
  return end_by([] { throw std::runtime_error("none"); });
}
CHILD_MAIN(terminates) {
  return end_by([] { std::terminate(); });
}
CHILD_MAIN(fails) {
  return end_by([] { *static_cast<volatile int*>(nullptr) = 1; });
}
CHILD_MAIN(aborts) {
  return end_by([] { std::abort(); });
}
CHILD_MAIN(is_asked_to_quit) {
  return end_by([] { ::kill(::getpid(), SIGQUIT); });
}
CHILD_MAIN(comes_to_a_deadlock) {
  return end_by([] {});
}

// The sanitizers do not work in a copy of their process, and report signals themselves.
TEST(flight_record, is_there_after_each_end) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  expect_a_record_of("throws");
  expect_a_record_of("terminates");
  EXPECT_EQ(expect_a_record_of("is_asked_to_quit").status, 2);
  EXPECT_EQ(expect_a_record_of("comes_to_a_deadlock").status, 2);
}

TEST(flight_record, is_there_after_signals) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  EXPECT_EQ(expect_a_record_of("fails").signal, SIGSEGV);
  EXPECT_EQ(expect_a_record_of("aborts").signal, SIGABRT);
}

CHILD_MAIN(has_no_place_for_it) {
  return run([] {
    const trace::flight_recorder recorder({.on_death = "/nonexistent/trace"});
    throw std::runtime_error("none");
    return 0;
  });
}

TEST(flight_record, an_error_of_the_file_is_named) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  const child_result child = run_child("has_no_place_for_it");
  EXPECT_TRUE(child.failed());
  EXPECT_NE(child.err.find("sley: the last events are not written: sley::debug::trace: can't make"),
            std::string::npos)
      << child;
}

CHILD_MAIN(has_switched_it_off) {
  return run([] {
    {
      const trace::flight_recorder recorder({.on_death = "/nonexistent/trace"});
    }
    throw std::runtime_error("none");
    return 0;
  });
}

TEST(flight_record, is_not_there_when_it_is_off) {
  const child_result child = run_child("has_switched_it_off");
  EXPECT_TRUE(child.failed());
  EXPECT_EQ(child.err.find("last events"), std::string::npos) << child;
}
