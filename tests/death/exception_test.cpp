// What ends the process: an exception that leaves a goroutine, and an exit() that is swallowed.
// Each happens in a child process, whose words and end are looked at.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

using sley_test::run_child;

namespace {

[[gnu::noinline]] void throw_from_here() { throw std::runtime_error("boom-42"); }

// Starts f in a goroutine, and waits for the end of the process.
template <class F>
int wait_for_the_end(F f) {
  return sley::run([&f] {
    sley::go({.name = "worker-7"}, f);
    sley::this_goroutine::sleep_for(std::chrono::seconds(20));
    return 0;
  });
}

bool mentions_a_goroutine_number(const std::string& text) {
  return sley_test::contains_match(text, "goroutine [0-9]+");
}

}  // namespace

CHILD_MAIN(throws) {
  return wait_for_the_end([] { throw_from_here(); });
}

// E7, TestPanicTraceback (for TestMainGoroutineID see conformance/run_test.cpp)
TEST(uncaught_exception, prints_the_goroutine_its_name_and_the_message_and_aborts) {
  const auto child = run_child("throws");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_TRUE(mentions_a_goroutine_number(child.err)) << child;
  EXPECT_NE(child.err.find("worker-7"), std::string::npos) << child;
  EXPECT_NE(child.err.find("boom-42"), std::string::npos) << child;
}

CHILD_MAIN(throws_int) {
  return wait_for_the_end([] { throw 42; });
}

// E7: the goroutine that has thrown, and where, below the line that says what.
TEST(uncaught_exception, shows_the_stack_on_which_it_was_thrown) {
  const auto child = run_child("throws");
  const auto number = sley_test::groups_of(
      child.err,
      "^sley: uncaught exception in goroutine ([0-9]+) \"worker-7\": std::runtime_error: boom-42$");
  ASSERT_FALSE(number.empty()) << child;
  const auto shown = sley_test::goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << "its own alone: " << child;
  EXPECT_EQ(shown[0].header, "goroutine " + number[1] + " \"worker-7\" [running]:");
  sley_test::expect_frame(shown[0], "throw_from_here", "exception_test.cpp");
}

TEST(uncaught_exception, of_any_type_is_reported) {
  const auto child = run_child("throws_int");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_TRUE(mentions_a_goroutine_number(child.err)) << child;
  EXPECT_NE(child.err.find("worker-7"), std::string::npos) << child;
}

CHILD_MAIN(throws_control_characters) {
  return sley::run([] {
    sley::go({.name = "a\nb\x1b[2J"}, [] { throw std::runtime_error("c\nsley: fatal\x1b[1m"); });
    sley::block_forever();
    return 3;
  });
}

TEST(uncaught_exception, is_reported_in_one_line_with_any_message) {
  const auto child = run_child("throws_control_characters");
  EXPECT_NE(child.err.find(R"("a\nb\x1b[2J": std::runtime_error: c\nsley: fatal\x1b[1m)"),
            std::string::npos)
      << child;
  EXPECT_NE(child.err.find(R"("a\nb\x1b[2J" [running]:)"), std::string::npos) << child;
  // What std::terminate prints is the C++ library's.
  const std::string ours = child.err.substr(0, child.err.find("terminate called"));
  EXPECT_EQ(ours.find('\x1b'), std::string::npos) << child;
}

CHILD_MAIN(throws_with_handler) {
  std::set_terminate([] {
    std::fputs("my handler\n", stderr);
    std::_Exit(43);
  });
  return wait_for_the_end([] { throw_from_here(); });
}

TEST(uncaught_exception, calls_the_terminate_handler) {
  const auto child = run_child("throws_with_handler");
  EXPECT_EQ(child.status, 43) << child;
  EXPECT_NE(child.err.find("my handler"), std::string::npos) << child;
  EXPECT_NE(child.err.find("boom-42"), std::string::npos) << child;
}

CHILD_MAIN(throws_with_curious_handler) {
  std::set_terminate([] {
    try {
      if (std::current_exception() != nullptr) std::rethrow_exception(std::current_exception());
    } catch (const std::runtime_error& error) {
      std::_Exit(std::string_view(error.what()) == "boom-42" ? 44 : 3);
    }
    std::_Exit(4);
  });
  return wait_for_the_end([] { throw_from_here(); });
}

TEST(uncaught_exception, is_the_current_one_in_the_terminate_handler) {
  const auto child = run_child("throws_with_curious_handler");
  EXPECT_EQ(child.status, 44) << child;
}

CHILD_MAIN(throws_after_a_migration) {
  return wait_for_the_end([] {
    for (int i = 0; i < 100; ++i) {
      sley::chan<int> c;
      sley::go([c] { c.send(1); });
      (void)c.receive();
    }
    try {
      throw std::logic_error("handled");
    } catch (const std::logic_error&) {
      sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
      throw_from_here();
    }
  });
}

TEST(uncaught_exception, of_a_goroutine_that_has_parked_is_reported_as_well) {
  const auto child = run_child("throws_after_a_migration");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_NE(child.err.find("boom-42"), std::string::npos) << child;
}

CHILD_MAIN(throws_without_run) {
  sley::go({.name = "started-by-thread"}, [] { throw_from_here(); });
  ::sleep(20);
  return 0;
}

TEST(uncaught_exception, needs_no_run_to_be_reported) {
  const auto child = run_child("throws_without_run");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_NE(child.err.find("started-by-thread"), std::string::npos) << child;
  EXPECT_NE(child.err.find("boom-42"), std::string::npos) << child;
}

// What it says yields, waits, writes and throws within.
class talkative final : public std::exception {
 public:
  const char* what() const noexcept override {
    sley::this_goroutine::yield();
    sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    std::fputs("being asked\n", stderr);
    try {
      throw std::runtime_error("another one");
    } catch (const std::runtime_error&) {
    }
    return "talkative-43";
  }
};

CHILD_MAIN(throws_a_talkative_exception) {
  return wait_for_the_end([] { throw talkative(); });
}

// E10, TestPanicDeadlockGosched, TestPanicDeadlockSyscall, TestPanicLoop, TestPanicWhilePanicking
TEST(uncaught_exception, may_use_the_library_inside_what) {
  const auto child = run_child("throws_a_talkative_exception");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_NE(child.err.find("talkative-43"), std::string::npos) << child;
}

namespace {

// What it says cannot be said.
class speechless final : public std::exception {
 public:
  const char* what() const noexcept override {
    throw_from_here();
    return "";
  }
};

}  // namespace

CHILD_MAIN(throws_a_speechless_exception) {
  return wait_for_the_end([] { throw speechless(); });
}

// E10. What is known is said first.
TEST(uncaught_exception, is_named_although_its_what_throws) {
  const auto child = run_child("throws_a_speechless_exception");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_TRUE(sley_test::contains_match(
      child.err, "^sley: uncaught exception in goroutine [0-9]+.*: .*speechless"))
      << child;
}

CHILD_MAIN(throws_while_others_do) {
  return wait_for_the_end([] {
    for (int i = 0; i < 20; ++i) sley::go([] { throw_from_here(); });
    throw_from_here();
  });
}

TEST(uncaught_exception, in_many_goroutines_at_once_ends_the_process_all_the_same) {
  const auto child = run_child("throws_while_others_do");
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_NE(child.err.find("boom-42"), std::string::npos) << child;
}

CHILD_MAIN(leaves_a_noexcept_function) {
  return wait_for_the_end([]() noexcept { throw_from_here(); });
}

TEST(uncaught_exception, out_of_a_noexcept_function_terminates) {
  const auto child = run_child("leaves_a_noexcept_function");
  EXPECT_EQ(child.signal, SIGABRT) << child;
}

CHILD_MAIN(swallows_exit) {
  return wait_for_the_end([] {
    try {
      sley::this_goroutine::exit();
    } catch (...) {
      std::fputs("swallowed\n", stderr);
    }
    std::fputs("went on\n", stderr);
    std::_Exit(5);
  });
}

TEST(exit, swallowed_by_a_handler_is_fatal) {
  const auto child = run_child("swallows_exit");
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_NE(child.status, 5) << child;
  EXPECT_NE(child.err.find("swallowed"), std::string::npos) << child;
  EXPECT_EQ(child.err.find("went on"), std::string::npos) << child;
  EXPECT_NE(child.err.find("exit"), std::string::npos) << "says what happened: " << child;
}

namespace {

struct throws_at_its_end {
  ~throws_at_its_end() noexcept(false) { throw_from_here(); }
};
struct throws_at_its_end_though_noexcept {
  ~throws_at_its_end_though_noexcept() { throw_from_here(); }
};

template <class Local>
int exit_over_a(Local (*make)()) {
  return wait_for_the_end([make] {
    try {
      const Local local = make();
      sley::this_goroutine::exit();
    } catch (const std::runtime_error&) {
      std::_Exit(5);
    }
  });
}

}  // namespace

CHILD_MAIN(throws_while_it_exits) {
  return exit_over_a(+[] { return throws_at_its_end(); });
}
CHILD_MAIN(throws_out_of_noexcept_while_it_exits) {
  return exit_over_a(+[] { return throws_at_its_end_though_noexcept(); });
}

// E5, TestPanicAfterGoexit: as out of any destructor while another exception is under way. What is
// said then is the C++ library's: the exception has not left the goroutine.
TEST(exit, over_a_destructor_that_throws_terminates) {
  for (const char* name : {"throws_while_it_exits", "throws_out_of_noexcept_while_it_exits"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.signal, SIGABRT) << name << ": " << child;
    EXPECT_NE(child.err.find("boom-42"), std::string::npos) << name << ": " << child;
  }
}

// Leaving f by exit() is no exception: run must not take it for one.
CHILD_MAIN(exits_in_a_goroutine) {
  return sley::run([] {
    sley::wait_group group;
    group.go([] { sley::this_goroutine::exit(); });
    group.wait();
    return 7;
  });
}

TEST(exit, of_a_goroutine_is_not_the_end_of_the_process) {
  const auto child = run_child("exits_in_a_goroutine");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}
