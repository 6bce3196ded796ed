// An exception that leaves the main goroutine comes out of run() if a caller catches it; else the
// process ends, with the stack of the throw in the report.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

using sley::run;
using sley_test::child_result;
using sley_test::on_this_thread;
using sley_test::run_child;

namespace {

[[gnu::noinline]] int throws_here() { throw std::runtime_error("boom-42"); }

[[gnu::noinline]] int counts_below_zero() {
  sley::wait_group group;
  group.done();
  return 0;
}
[[gnu::noinline]] int closes_nil() {
  sley::chan<int> none(nullptr);
  none.close();
  return 0;
}

void expect_report(const child_result& child, const std::string& frame,
                   const std::string& what = "boom-42") {
  EXPECT_EQ(child.signal, SIGABRT) << child;
  EXPECT_TRUE(sley_test::contains_match(child.err,
                                        "^sley: uncaught exception in goroutine 1: .*: .*" + what))
      << child;
  const auto shown = sley_test::goroutines_in(child.err);
  ASSERT_EQ(shown.size(), 1U) << child;
  EXPECT_EQ(shown[0].header.rfind("goroutine 1 [running", 0), 0U) << child;
  sley_test::expect_frame(shown[0], frame, "main_exception_test.cpp");
}

// A frame with a destructor, on the way out of run().
template <class F>
int run_beside_an_object(F f) {
  const std::string text(100, 'x');
  return run(f) + static_cast<int>(text.size());
}

}  // namespace

CHILD_MAIN(main_throws) { return run(throws_here); }
CHILD_MAIN(main_throws_on_this_thread) { return run(on_this_thread, throws_here); }
CHILD_MAIN(main_throws_after_parking) {
  return run([] {
    sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    return throws_here();
  });
}
CHILD_MAIN(main_throws_in_a_thread) {
  std::thread([] { run_beside_an_object(throws_here); }).join();
  return 0;
}
CHILD_MAIN(main_throws_below_a_noexcept_function) {
  const auto f = []() noexcept { return run_beside_an_object(throws_here); };
  return f();
}
CHILD_MAIN(main_throws_an_uncaught_exception) {
  try {
    return run_beside_an_object(throws_here);
  } catch (const std::logic_error&) {
    return 3;
  } catch (int) {
    return 4;
  }
}

TEST(main_exception, that_is_not_caught_is_reported_with_the_stack_of_the_throw) {
  for (const char* name : {"main_throws", "main_throws_on_this_thread", "main_throws_after_parking",
                           "main_throws_in_a_thread", "main_throws_an_uncaught_exception"}) {
    SCOPED_TRACE(name);
    expect_report(run_child(name), "throws_here");
  }
#ifndef __clang__  // the end of a noexcept function is a handler in what clang makes of it
  expect_report(run_child("main_throws_below_a_noexcept_function"), "throws_here");
#endif
}

CHILD_MAIN(main_counts_below_zero) { return run(counts_below_zero); }
CHILD_MAIN(main_closes_nil) { return run(closes_nil); }

TEST(main_exception, of_the_library_is_reported_in_the_same_way) {
  expect_report(run_child("main_counts_below_zero"), "counts_below_zero", "negative counter");
  expect_report(run_child("main_closes_nil"), "closes_nil", "nil");
}

namespace {

struct counted {
  explicit counted(int& n) : alive(n) { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  int& alive;
};

// Run by callers at several distances, each with frames that don't want the exception.
template <class Run>
int is_caught(Run run_it) {
  int alive = 0;
  try {
    try {
      const counted outer(alive);
      run_it([&] {
        const counted inner(alive);
        throws_here();
      });
    } catch (const std::logic_error&) {
      return 1;
    }
  } catch (const std::runtime_error& e) {
    return std::string(e.what()) == "boom-42" && alive == 0 && std::uncaught_exceptions() == 0 ? 7
                                                                                               : 2;
  }
  return 3;
}

}  // namespace

CHILD_MAIN(a_caller_catches) {
  for (int i = 0; i < 20; ++i) {
    if (is_caught([](auto f) { run(f); }) != 7) return 3;
    if (is_caught([](auto f) { run(on_this_thread, f); }) != 7) return 4;
  }
  return run([] { return 7; });
}
CHILD_MAIN(a_caller_catches_all) {
  try {
    run([] { throw std::make_unique<int>(42); });
  } catch (...) {
    return 7;
  }
  return 3;
}
CHILD_MAIN(a_caller_catches_a_rethrown_exception) {
  std::exception_ptr kept;
  try {
    run([&] {
      try {
        throws_here();
      } catch (...) {
        kept = std::current_exception();
      }
      std::rethrow_exception(kept);
    });
  } catch (const std::exception& e) {
    return std::string(e.what()) == "boom-42" ? 7 : 3;
  }
  return 4;
}

TEST(main_exception, comes_out_of_run_where_a_caller_catches_it) {
  for (const char* name :
       {"a_caller_catches", "a_caller_catches_all", "a_caller_catches_a_rethrown_exception"}) {
    const auto child = run_child(name);
    EXPECT_EQ(child.status, 7) << name << ": " << child;
    EXPECT_EQ(child.err, "") << name << ": " << child;
  }
}

CHILD_MAIN(main_throws_with_handler) {
  std::set_terminate([] {
    try {
      std::rethrow_exception(std::current_exception());
    } catch (const std::runtime_error&) {
      std::_Exit(43);
    }
  });
  return run(throws_here);
}

TEST(main_exception, is_the_current_one_in_the_terminate_handler) {
  const auto child = run_child("main_throws_with_handler");
  EXPECT_EQ(child.status, 43) << child;
}

CHILD_MAIN(main_exits) {
  return run([] {
    sley::go([] {
      sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
      std::_Exit(7);
    });
    sley::this_goroutine::exit();
  });
}

TEST(main_exception, is_not_reported_for_exit) {
  const auto child = run_child("main_exits");
  EXPECT_EQ(child.status, 7) << child;
  EXPECT_EQ(child.err, "") << child;
}
