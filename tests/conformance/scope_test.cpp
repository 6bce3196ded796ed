// scope: its goroutines have ended when the block is left, whichever way, and the first exception
// ends the others' work and comes out of join() or of the block.
#include "support/failures.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using sley::chan;
using sley::context_errc;
using sley_test::failure_of;
using sley_test::let_others_run;
using sley_test::rounds;

namespace {

// Goroutines that go on until they are told to end, count then, and fail in addition.
struct stubborn {
  std::atomic<int> ended{0};

  void add_to(sley::scope& all, int count) {
    for (int i = 0; i < count; ++i) {
      all.go([this, &all] {
        all.context().done().receive();
        let_others_run();
        ++ended;
        throw std::runtime_error("late");
      });
    }
  }
};

}  // namespace

GO_TEST(scope, the_end_of_the_block_waits) {
  std::vector<int> squares(50);
  {
    sley::scope all;
    for (int i = 0; i < 50; ++i) {
      all.go([&, i] {
        let_others_run();
        squares[static_cast<std::size_t>(i)] = i * i;
      });
    }
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(squares[static_cast<std::size_t>(i)], i * i);
  {
    sley::scope empty;
  }
}

GO_TEST(scope, the_first_exception_ends_the_others_and_leaves_the_block) {
  stubborn others;
  bool is_over = false;
  EXPECT_EQ(failure_of([&] {
              sley::scope all;
              others.add_to(all, 5);
              all.go([] { throw std::runtime_error("first"); });
              is_over = true;
            }),
            "first");
  EXPECT_TRUE(is_over);
  EXPECT_EQ(others.ended, 5);
}

GO_TEST(scope, join_throws_once_and_the_block_goes_on) {
  std::atomic<int> ran{0};
  EXPECT_EQ(failure_of([&] {
              sley::scope all;
              all.go([&] { ++ran; });
              all.join();
              EXPECT_EQ(ran, 1);
              EXPECT_FALSE(all.context().error()) << "join ends nothing";
              all.go([] { throw std::runtime_error("first"); });
              EXPECT_EQ(failure_of([&] { all.join(); }), "first");
              EXPECT_TRUE(all.context().error());
              all.join();
              all.go([] { throw std::runtime_error("second"); });
              EXPECT_EQ(failure_of([&] { all.join(); }), "second");
              all.go([&] { ++ran; });
            }),
            "");
  EXPECT_EQ(ran, 2);
}

GO_TEST(scope, a_block_left_by_an_exception_ends_the_work_and_keeps_its_own_exception) {
  stubborn others;
  EXPECT_EQ(failure_of([&] {
              sley::scope all;
              others.add_to(all, 5);
              throw std::runtime_error("of the block");
            }),
            "of the block");
  EXPECT_EQ(others.ended, 5);
}

GO_TEST(scope, a_block_left_by_exit_ends_the_work_and_waits) {
  stubborn others;
  sley::wait_group group;
  group.go([&] {
    sley::scope all;
    others.add_to(all, 5);
    sley::this_goroutine::exit();
  });
  group.wait();
  EXPECT_EQ(others.ended, 5);
}

namespace {

// Uses a scope of its own while the stack around it is unwound.
struct cleaner {
  std::string* failure;
  ~cleaner() {
    *failure = failure_of([] {
      sley::scope all;
      all.go([] { throw std::runtime_error("of the cleaner"); });
    });
  }
};

}  // namespace

// That an exception is under way does not say that this block is left by it.
GO_TEST(scope, within_a_destructor_that_unwinding_calls_it_throws_as_ever) {
  std::string by_exception;
  EXPECT_EQ(failure_of([&] {
              const cleaner guard{&by_exception};
              throw std::runtime_error("of the block");
            }),
            "of the block");
  EXPECT_EQ(by_exception, "of the cleaner");
  std::string by_exit;
  sley::wait_group group;
  group.go([&] {
    const cleaner guard{&by_exit};
    sley::this_goroutine::exit();
  });
  group.wait();
  EXPECT_EQ(by_exit, "of the cleaner");
  std::string in_handler;
  try {
    throw std::runtime_error("of the block");
  } catch (const std::runtime_error&) {
    const cleaner guard{&in_handler};
  }
  EXPECT_EQ(in_handler, "of the cleaner");
}

GO_TEST(scope, its_context_ends_with_the_parent_and_with_the_block) {
  auto [outer, cancel] = sley::with_cancel(sley::context());
  sley::context inner;
  {
    sley::scope all(outer);
    inner = all.context();
    all.join();
    EXPECT_FALSE(inner.error());
  }
  EXPECT_EQ(inner.error(), context_errc::canceled);
  EXPECT_FALSE(outer.error());
  sley::scope all(outer);
  all.go([&] { all.context().done().receive(); });
  let_others_run();
  cancel();
  all.join();
  EXPECT_EQ(all.context().error(), context_errc::canceled);
}

GO_TEST(scope, the_cause_of_its_context_is_the_exception) {
  sley::scope all;
  all.go([] { throw std::runtime_error("first"); });
  all.context().done().receive();
  EXPECT_EQ(failure_of([&] { std::rethrow_exception(all.context().cause()); }), "first");
  EXPECT_EQ(failure_of([&] { all.join(); }), "first");
}

GO_TEST(scope, its_goroutines_may_start_others_while_it_waits) {
  std::atomic<int> ran{0};
  {
    sley::scope all;
    all.go([&] {
      for (int i = 0; i < 10; ++i) {
        all.go([&] {
          let_others_run();
          all.go([&] { ++ran; });
        });
      }
    });
  }
  EXPECT_EQ(ran, 10);
}

GO_TEST(scope, scopes_nest_and_an_inner_failure_goes_outwards) {
  stubborn others;
  EXPECT_EQ(failure_of([&] {
              sley::scope outer;
              others.add_to(outer, 3);
              outer.go([&] {
                sley::scope inner(outer.context());
                others.add_to(inner, 3);
                inner.go([] { throw std::runtime_error("innermost"); });
              });
            }),
            "innermost");
  EXPECT_EQ(others.ended, 6);
}

GO_TEST(scope, a_goroutine_that_leaves_by_exit_has_not_failed) {
  sley::scope all;
  for (int i = 0; i < 10; ++i) all.go([] { sley::this_goroutine::exit(); });
  all.join();
  EXPECT_FALSE(all.context().error());
}

GO_TEST(scope, many_blocks_with_failures_at_the_same_time) {
  const int tries = rounds(500);
  sley::scope workers;
  for (int w = 0; w < 4; ++w) {
    workers.go([=] {
      for (int i = 0; i < tries; ++i) {
        std::atomic<int> ran{0};
        const std::string failure = failure_of([&] {
          sley::scope all;
          for (int g = 0; g < 4; ++g) {
            all.go([&ran] {
              ++ran;
              throw std::runtime_error("doom");
            });
          }
        });
        ASSERT_EQ(failure, "doom");
        ASSERT_EQ(ran, 4);
      }
    });
  }
}

FOREIGN_TEST(scope, works_in_a_thread_that_the_runtime_did_not_make) {
  stubborn others;
  EXPECT_EQ(failure_of([&] {
              sley::scope all;
              others.add_to(all, 3);
              all.go([] { throw std::runtime_error("first"); });
            }),
            "first");
  EXPECT_EQ(others.ended, 3);
  std::thread([&] {
    EXPECT_EQ(failure_of([&] {
                sley::scope all;
                others.add_to(all, 3);
                throw std::runtime_error("of the block");
              }),
              "of the block");
  }).join();
  EXPECT_EQ(others.ended, 6);
}
