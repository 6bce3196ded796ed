// Exceptions that nothing asks for any more are lines on stderr, and nothing else is.
#include "support/child.hpp"
#include "support/harness.hpp"

#include <sley/promise.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

using sley::run;
using sley_test::occurrences;
using sley_test::run_child;
using namespace std::chrono_literals;

namespace {

[[noreturn]] void throws() { throw std::runtime_error("boom-42"); }

// A goroutine holds the exception until it has ended, which may be after its future was waited for.
void wait_for_others() {
  EXPECT_TRUE(sley_test::eventually([] { return sley::runtime::num_goroutines() == 1; }));
}

void expect_one_line(const char* name, const std::string& what) {
  const auto child = run_child(name);
  EXPECT_EQ(child.status, 0) << name << ": " << child;
  sley_test::expect_one_line(child, "an exception of .* was lost, because .*: " + what);
}

}  // namespace

CHILD_MAIN(drops_the_future_first) {
  return run([] {
    const sley::chan<void> dropped;
    {
      auto f = sley::async([dropped] {
        dropped.receive();
        throws();
      });
    }
    dropped.close();
    wait_for_others();
  });
}
CHILD_MAIN(drops_the_future_later) {
  return run([] {
    sley::async(throws).wait();
    wait_for_others();
  });
}
CHILD_MAIN(never_keeps_the_future) {
  return run([] {
    (void)sley::async(throws);
    wait_for_others();
  });
}
CHILD_MAIN(drops_a_shared_future) {
  return run([] {
    {
      const auto f = sley::async(throws).share();
      const auto same = f;
      f.wait();
    }
    wait_for_others();
  });
}
CHILD_MAIN(drops_the_future_of_a_task) {
  return run([] {
    sley::packaged_task<void()> task(throws);
    (void)task.get_future();
    sley::go(std::move(task));
    wait_for_others();
  });
}
CHILD_MAIN(drops_an_error_group) {
  return run([] {
    sley::error_group group;
    group.go(throws);
    wait_for_others();
  });
}
CHILD_MAIN(overwrites_the_future) {
  return run([] {
    auto f = sley::async(throws);
    f.wait();
    f = sley::async([] {});
    wait_for_others();
  });
}

TEST(lost_exception, is_reported) {
  for (const char* name :
       {"drops_the_future_first", "drops_the_future_later", "never_keeps_the_future",
        "drops_a_shared_future", "drops_the_future_of_a_task", "drops_an_error_group",
        "overwrites_the_future"}) {
    expect_one_line(name, "std::runtime_error: boom-42");
  }
}

CHILD_MAIN(loses_an_int) {
  return run([] {
    (void)sley::async([] { throw 42; });
    wait_for_others();
  });
}

TEST(lost_exception, may_be_of_any_type) { expect_one_line("loses_an_int", "int"); }

CHILD_MAIN(loses_nothing) {
  return run([] {
    try {
      sley::async(throws).get();
    } catch (const std::runtime_error&) {
    }
    const auto shared = sley::async(throws).share();
    const auto copy = shared;
    try {
      copy.get();
    } catch (const std::runtime_error&) {
    }
    (void)sley::async([] { sley::this_goroutine::exit(); });
    (void)sley::async([] { return 1; });
    sley::promise<int> broken;
    (void)broken.get_future();
    sley::promise<int> brought;
    (void)brought.get_future();
    brought.set_exception(std::make_exception_ptr(std::runtime_error("boom-42")));
    try {
      sley::error_group group;
      group.go(throws);
      group.wait();
    } catch (const std::runtime_error&) {
    }
    try {
      sley::error_group group;
      group.go([ctx = group.context()] {
        ctx.done().receive();
        throws();
      });
      throw std::logic_error("leaves the block");
    } catch (const std::logic_error&) {
    }
    wait_for_others();
  });
}

TEST(lost_exception, is_not_reported_for_a_requested_end_or_a_foreign_exception) {
  const auto child = run_child("loses_nothing");
  EXPECT_EQ(child.status, 0) << child;
  EXPECT_EQ(child.err, "") << child;
}
