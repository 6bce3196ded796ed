// error_group: what the documentation of Go's golang.org/x/sync/errgroup promises and its tests
// assert (errgroup_test.go: TestZeroGroup, TestWithContext, TestCancelCause, TestTryGo,
// TestGoLimit), with exceptions for errors; and what is sley's own: the destructor, misuse that
// throws, goroutines that leave by exit(), threads that the runtime did not make.
#include "support/failures.hpp"
#include "support/harness.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using sley::chan;
using sley::context_errc;
using sley::error_group;
using sley_test::eventually;
using sley_test::failure_of;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;

namespace {

std::string text_of(const std::exception_ptr& e) {
  return failure_of([&] {
    if (e != nullptr) std::rethrow_exception(e);
  });
}

void fail_with(const std::string& text) {
  if (!text.empty()) throw std::runtime_error(text);
}

// What goroutines fail with, one after the other; empty: not at all.
const std::vector<std::string> fates[] = {{}, {""}, {"doom"}, {"doom", ""}, {"", "doom"}};

}  // namespace

// TestZeroGroup: wait() after each go() of one group.
GO_TEST(error_group, wait_throws_the_first_exception_each_time) {
  for (const std::vector<std::string>& fate : fates) {
    error_group group;
    std::string first;
    group.wait();
    for (const std::string& text : fate) {
      group.go([text] { fail_with(text); });
      if (first.empty()) first = text;
      EXPECT_EQ(failure_of([&] { group.wait(); }), first);
      EXPECT_EQ(failure_of([&] { group.wait(); }), first);
    }
    group.go([] { fail_with("later"); });
    EXPECT_EQ(failure_of([&] { group.wait(); }), first.empty() ? "later" : first);
  }
}

// TestWithContext, TestCancelCause
GO_TEST(error_group, its_context_has_ended_after_wait_with_the_exception_as_its_cause) {
  for (const std::vector<std::string>& fate : fates) {
    error_group group(sley::context::background());
    EXPECT_FALSE(group.context().error());
    for (const std::string& text : fate) group.go([text] { fail_with(text); });
    const std::string failure = failure_of([&] { group.wait(); });
    EXPECT_EQ(failure.empty(), std::count(fate.begin(), fate.end(), "doom") == 0);
    EXPECT_EQ(group.context().error(), context_errc::canceled);
    if (!failure.empty()) {
      EXPECT_EQ(text_of(group.context().cause()), "doom");
    } else {
      EXPECT_THROW(std::rethrow_exception(group.context().cause()), std::system_error);
    }
  }
}

// "The first call to return a non-nil error cancels the group's context."
GO_TEST(error_group, the_first_exception_ends_the_work_of_the_others) {
  error_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&group] {
      group.context().done().receive();
      std::rethrow_exception(group.context().cause());
    });
  }
  let_others_run();
  EXPECT_FALSE(group.context().error());
  group.go([] { throw std::runtime_error("first"); });
  EXPECT_EQ(failure_of([&] { group.wait(); }), "first");
}

GO_TEST(error_group, any_type_is_thrown_and_the_very_same_object_comes_out) {
  error_group group;
  std::exception_ptr mine = std::make_exception_ptr(42);
  group.go([mine] { std::rethrow_exception(mine); });
  EXPECT_THROW(group.wait(), int);
  EXPECT_EQ(group.context().cause(), mine);
  error_group another;
  another.go([] { throw std::make_unique<int>(7); });
  try {
    another.wait();
    ADD_FAILURE();
  } catch (const std::unique_ptr<int>& caught) {
    EXPECT_EQ(*caught, 7);
  }
}

// The derived context of WithContext ends with its parent, and a parent stays as it is.
GO_TEST(error_group, its_context_is_one_made_from_the_parent) {
  auto [outer, cancel] = sley::with_cancel(sley::with_value(sley::context(), "key", 5));
  {
    error_group group(outer);
    EXPECT_EQ(*group.context().value<int>("key"), 5);
    group.go([] { throw std::runtime_error("doom"); });
    EXPECT_EQ(failure_of([&] { group.wait(); }), "doom");
    EXPECT_FALSE(outer.error());
  }
  error_group group(outer);
  group.go([&group] { group.context().done().receive(); });
  let_others_run();
  cancel();
  group.wait();
  EXPECT_EQ(group.context().error(), context_errc::canceled);
}

// TestTryGo
GO_TEST(error_group, try_go_starts_no_more_than_the_limit_allows) {
  constexpr int limit = 42;
  error_group group;
  const chan<int> c;
  const auto send = [c] { c.send(1); };
  group.set_limit(limit);
  for (int i = 0; i < limit; ++i) EXPECT_TRUE(group.try_go(send)) << "at " << i;
  EXPECT_FALSE(group.try_go(send));
  sley::go([c] {
    for (int i = 0; i < limit; ++i) (void)c.receive();
  });
  group.wait();

  group.set_limit(1);
  EXPECT_TRUE(group.try_go(send));
  EXPECT_FALSE(group.try_go(send));
  (void)c.receive();
  group.wait();

  group.set_limit(-1);
  for (int i = 0; i < limit; ++i) EXPECT_TRUE(group.try_go(send)) << "at " << i;
  for (int i = 0; i < limit; ++i) (void)c.receive();
  group.wait();

  group.set_limit(0);
  EXPECT_FALSE(group.try_go(send));
  group.wait();
}

// TestGoLimit
GO_TEST(error_group, never_do_more_run_at_a_time_than_the_limit_says) {
  constexpr int limit = 10;
  error_group group;
  group.set_limit(limit);
  std::atomic<int> active{0};
  std::atomic<int> most{0};
  const int goroutines = rounds(1024);
  std::atomic<int> ran{0};
  for (int i = 0; i < goroutines; ++i) {
    group.go([&] {
      const int now = ++active;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      sley::this_goroutine::yield();
      --active;
      ++ran;
    });
  }
  group.wait();
  EXPECT_EQ(ran, goroutines);
  EXPECT_LE(most, limit);
  EXPECT_GT(most, 0);
}

GO_TEST(error_group, go_parks_until_one_has_ended_and_places_are_given_in_order) {
  error_group group;
  group.set_limit(1);
  const chan<void> gate;
  group.go([gate] { gate.receive(); });
  std::vector<int> order;  // one at a time: the limit guards it
  for (int i = 0; i < 5; ++i) {
    go_until_parked([&, i] { group.go([&order, i] { order.push_back(i); }); });
  }
  EXPECT_TRUE(order.empty());
  gate.close();
  group.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

// What a waiting go() would start is waited for as well, so that it never starts behind wait().
GO_TEST(error_group, wait_includes_calls_of_go_that_wait_for_a_place) {
  error_group group;
  group.set_limit(1);
  const chan<void> gate;
  std::atomic<bool> has_run{false};
  group.go([gate] { gate.receive(); });
  go_until_parked([&] { group.go([&] { has_run = true; }); });
  sley::go([gate] {
    let_others_run();
    gate.send();
  });
  group.wait();
  EXPECT_TRUE(has_run);
}

// SetLimit panics "while goroutines in the group are still active".
GO_TEST(error_group, setting_the_limit_while_goroutines_run_throws_and_changes_nothing) {
  error_group group;
  group.set_limit(2);
  const chan<void> gate;
  group.go([gate] { gate.receive(); });
  for (const int n : {-1, 0, 1, 3}) EXPECT_THROW(group.set_limit(n), std::logic_error);
  EXPECT_TRUE(group.try_go([gate] { gate.receive(); }));
  EXPECT_FALSE(group.try_go([] {}));
  gate.close();
  group.wait();
  group.set_limit(1);
  group.set_limit(-1);

  error_group without_limit;
  const chan<void> second_gate;
  without_limit.go([second_gate] { second_gate.receive(); });
  EXPECT_THROW(without_limit.set_limit(1), std::logic_error);
  second_gate.close();
  without_limit.wait();
}

namespace {

struct copy_fails {
  copy_fails() = default;
  copy_fails(const copy_fails&) { throw std::runtime_error("copy"); }
  void operator()() const { ADD_FAILURE(); }
};

}  // namespace

GO_TEST(error_group, a_go_that_throws_starts_nothing_and_keeps_no_place) {
  error_group group;
  group.set_limit(1);
  const copy_fails f;
  void (*const nothing)() = nullptr;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(failure_of([&] { group.go(f); }), "copy");
    EXPECT_EQ(failure_of([&] { (void)group.try_go(f); }), "copy");
    EXPECT_THROW(group.go(nothing), std::logic_error);
    EXPECT_THROW((void)group.try_go(nothing), std::logic_error);
  }
  EXPECT_FALSE(group.context().error()) << "the group has failed";
  group.wait();
}

GO_TEST(error_group, a_goroutine_that_leaves_by_exit_has_not_failed) {
  error_group group;
  group.set_limit(1);
  for (int i = 0; i < 10; ++i) group.go([] { sley::this_goroutine::exit(); });
  group.wait();
  EXPECT_THROW(std::rethrow_exception(group.context().cause()), std::system_error);
}

GO_TEST(error_group, a_function_is_destroyed_before_its_failure_is_seen) {
  const int tries = rounds(300);
  for (int i = 0; i < tries; ++i) {
    error_group group;
    std::weak_ptr<int> watched;
    {
      const auto held = std::make_shared<int>(1);  // const in the function as well
      watched = held;
      group.go([held] { throw std::runtime_error("doom"); });
    }
    group.context().done().receive();
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(failure_of([&] { group.wait(); }), "doom");
  }
}

GO_TEST(error_group, goroutines_of_the_group_may_start_others) {
  error_group group;
  std::atomic<int> ran{0};
  std::function<void(int)> spread = [&](int depth) {
    ++ran;
    for (int i = 0; depth > 0 && i < 3; ++i) group.go([&, depth] { spread(depth - 1); });
  };
  group.go([&] { spread(4); });
  group.wait();
  EXPECT_EQ(ran, 1 + 3 + 9 + 27 + 81);
}

GO_TEST(error_group, every_waiter_gets_the_exception) {
  error_group group;
  const chan<void> gate;
  group.go([gate] {
    gate.receive();
    throw std::runtime_error("doom");
  });
  std::atomic<int> caught{0};
  sley::wait_group waiters;
  for (int i = 0; i < 5; ++i) {
    waiters.go([&] { caught += failure_of([&] { group.wait(); }) == "doom"; });
  }
  let_others_run();
  gate.close();
  waiters.wait();
  EXPECT_EQ(caught, 5);
}

// An exception between go() and wait(): what the goroutines refer to is still there.
GO_TEST(error_group, destroying_it_ends_its_context_and_waits) {
  std::atomic<int> ended{0};
  std::optional<sley::context> kept;
  const std::string failure = failure_of([&] {
    error_group group;
    kept = group.context();
    for (int i = 0; i < 5; ++i) {
      group.go([&] {
        group.context().done().receive();
        let_others_run();
        ++ended;
        throw std::runtime_error("dropped");
      });
    }
    throw std::runtime_error("of the block");
  });
  EXPECT_EQ(failure, "of the block");
  EXPECT_EQ(ended, 5);
  EXPECT_EQ(kept->error(), context_errc::canceled);
}

// The last goroutine does not touch a group that is gone.
GO_TEST(error_group, it_may_be_destroyed_as_soon_as_wait_has_returned) {
  const int tries = rounds(2000);
  for (int i = 0; i < tries; ++i) {
    auto group = std::make_unique<error_group>();
    group->set_limit(1 + i % 3);
    std::atomic<int> n{0};
    for (int g = 0; g < 3; ++g) {
      group->go([&n, i] {
        ++n;
        if (i % 2 == 0) throw std::runtime_error("doom");
      });
    }
    const std::string failure = failure_of([&] { group->wait(); });
    group.reset();
    ASSERT_EQ(n, 3);
    ASSERT_EQ(failure, i % 2 == 0 ? "doom" : "");
  }
}

GO_TEST(error_group, one_of_many_exceptions_at_the_same_time_is_thrown) {
  const int tries = rounds(300);
  for (int i = 0; i < tries; ++i) {
    error_group group;
    for (int g = 0; g < 8; ++g) group.go([g] { throw g; });
    int caught = -1;
    try {
      group.wait();
    } catch (int g) {
      caught = g;
    }
    ASSERT_GE(caught, 0);
    try {
      std::rethrow_exception(group.context().cause());
    } catch (int cause) {
      ASSERT_EQ(cause, caught);
    }
  }
}

FOREIGN_TEST(error_group, works_from_threads_that_the_runtime_did_not_make) {
  error_group group;
  group.set_limit(2);
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        group.go([&] {
          ++ran;
          sley::this_goroutine::yield();
        });
      }
    });
  }
  for (std::thread& t : threads) t.join();
  group.wait();
  EXPECT_EQ(ran, 80);
  group.go([] { throw std::runtime_error("doom"); });
  EXPECT_EQ(failure_of([&] { group.wait(); }), "doom");
}
