// Aim: a flight recorder leaves what happened last, however the process ends by a failure; and the
// end is as it was.
#include "support/child.hpp"
#include "support/chrome_trace.hpp"
#include "support/harness.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
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
int end_in_a_goroutine_by(F f) {
  sley::go({.name = "the last"}, [&] {
    trace::log("this is the end");
    f();
  });
  sley::chan<int>().receive();
  return 0;
}
template <class F>
int end_by(F f) {
  return run([&] {
    const trace::flight_recorder recorder(
        {.on_death = std::string(sley_test::setting("RECORD_AT"))});
    return end_in_a_goroutine_by(f);
  });
}

// `before`: SLEYDEBUG up to the path of the file, which is in RECORD_AT otherwise.
child_result expect_a_record_of(const char* name, const std::string& before = "") {
  const trace_path file;
  const child_result child = before.empty()
                                 ? run_child(name, {{"RECORD_AT", file.path()}})
                                 : run_child(name, {{"SLEYDEBUG", before + file.path()}});
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

CHILD_MAIN(has_no_recorder) {
  return run([] { return end_in_a_goroutine_by([] { throw std::runtime_error("none"); }); });
}
CHILD_MAIN(has_a_recorder_without_a_place) {
  return run([] {
    const trace::flight_recorder recorder;
    return end_in_a_goroutine_by([] { throw std::runtime_error("none"); });
  });
}
CHILD_MAIN(runs_twice) {
  run([] { trace::log("this is the end"); });
  return run([] {
    sley::go({.name = "the last"}, [] { throw std::runtime_error("none"); });
    sley::chan<int>().receive();
    return 0;
  });
}
CHILD_MAIN(has_a_recorder_from_before_and_runs_twice) {
  const trace::flight_recorder recorder;
  run([] {});
  return run([] { return end_in_a_goroutine_by([] { throw std::runtime_error("none"); }); });
}

TEST(flight_record, is_there_if_a_setting_says_so) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  expect_a_record_of("has_no_recorder", "flight=");
  expect_a_record_of("has_no_recorder", "slice=20,flight=");
  expect_a_record_of("runs_twice", "flight=");
  expect_a_record_of("has_a_recorder_without_a_place", "flight=");
  expect_a_record_of("has_a_recorder_from_before_and_runs_twice", "flight=");
}

TEST(flight_record, of_a_setting_is_not_where_the_programs_own_is) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  const trace_path file;
  const child_result child =
      run_child("throws", {{"RECORD_AT", file.path()}, {"SLEYDEBUG", "flight=/nonexistent/trace"}});
  EXPECT_NE(child.err.find("sley: the last events are in " + file.path()), std::string::npos)
      << child;
  EXPECT_EQ(sley_test::occurrences(child.err, "the last events"), 1) << child;
}

TEST(flight_record, of_a_setting_is_perfettos_if_its_name_says_so) {
  if (sley_test::under_sanitizer) GTEST_SKIP();
  const sley_test::temporary_folder folder;
  const std::string path = folder.path() / "last.pftrace";
  const child_result child = run_child("has_no_recorder", {{"SLEYDEBUG", "flight=" + path}});
  EXPECT_NE(child.err.find("sley: the last events are in " + path), std::string::npos) << child;
  std::ifstream file(path);
  EXPECT_EQ(file.get(), 0x0a);  // the first packet of the message
}

CHILD_MAIN(says_seven) {
  return run([] { return 7; });
}

TEST(flight_record, of_a_setting_changes_nothing_else) {
  const child_result child = run_child("says_seven", {{"SLEYDEBUG", "flight=/nonexistent/trace"}});
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}

TEST(flight_record, a_setting_without_a_sane_path_is_one_line) {
  for (const std::string& setting :
       {std::string("flight"), std::string("flight="), "flight=" + std::string(1024, 'x')}) {
    const child_result child = run_child("says_seven", {{"SLEYDEBUG", setting}});
    EXPECT_EQ(child.status, 7) << child;
    EXPECT_NE(child.err.find(" ignored: expected flight= and the path of a file"),
              std::string::npos)
        << child;
    EXPECT_EQ(sley_test::occurrences(child.err, "\n"), 1) << child;
  }
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
