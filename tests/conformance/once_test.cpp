// call_once and once_value: the conditions of [thread.once], and what Go's sync/once_test.go and
// sync/oncefunc_test.go assert (H18, H19). Where they differ, in that a call that throws counts in
// Go and does not here, the standard is followed.
#include "support/counted.hpp"
#include "support/harness.hpp"
#include "support/short_context.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;

static_assert(!std::is_copy_constructible_v<sley::once_flag>);
static_assert(std::is_nothrow_default_constructible_v<sley::once_flag>);
[[maybe_unused]] constinit sley::once_flag constant_initialised;

// H18, TestOnce
GO_TEST(once, ten_callers_call_once_and_all_see_its_effect) {
  for (int round = 0; round < rounds(300); ++round) {
    sley::once_flag flag;
    int calls = 0;  // handed over by the flag
    sley::wait_group group;
    for (int g = 0; g < 10; ++g) {
      group.go([&] {
        sley::call_once(flag, [&] {
          sley::this_goroutine::yield();
          ++calls;
        });
        EXPECT_EQ(calls, 1);
      });
    }
    group.wait();
    EXPECT_EQ(calls, 1);
  }
}

GO_TEST(once, arguments_are_forwarded_and_not_copied) {
  sley::once_flag flag;
  std::unique_ptr<int> taken;
  sley::call_once(
      flag, [&](std::unique_ptr<int> p, int& n) { (taken = std::move(p)), n = 2; },
      std::make_unique<int>(1), *std::make_unique<int>(0));
  EXPECT_EQ(*taken, 1);
  auto kept = std::make_unique<int>(3);
  sley::call_once(flag, [](std::unique_ptr<int>&&) {}, std::move(kept));
  EXPECT_NE(kept, nullptr);  // NOLINT(bugprone-use-after-move): there was no call
}

// [thread.once.callonce]: an exceptional execution is passed on, and another is tried.
GO_TEST(once, a_call_that_throws_does_not_count_and_the_next_is_tried) {
  sley::once_flag flag;
  int calls = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(sley::call_once(flag, [&] { throw ++calls; }), int);
  }
  sley::call_once(flag, [&] { ++calls; });
  sley::call_once(flag, [&] { ++calls; });
  EXPECT_EQ(calls, 4);
}

GO_TEST(once, a_waiter_makes_the_next_call_after_one_that_throws) {
  sley::once_flag flag;
  sley::chan<void> fail;
  sley::wait_group group;
  int calls = 0;  // guarded by the flag
  std::atomic<int> thrown{0};
  std::atomic<int> returned{0};
  for (int g = 0; g < 4; ++g) {
    group.go([&, fail] {
      try {
        sley::call_once(flag, [&] {
          fail.receive();
          if (++calls <= 2) throw std::runtime_error("not yet");
        });
        ++returned;
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    });
  }
  let_others_run();
  fail.close();
  group.wait();
  EXPECT_EQ(thrown, 2);
  EXPECT_EQ(returned, 2);
}

GO_TEST(once, a_call_that_exits_its_goroutine_does_not_count) {
  sley::once_flag flag;
  std::atomic<bool> exited{false};
  sley::go([&] {
    struct note {
      std::atomic<bool>& exited;
      ~note() { exited = true; }
    } n{exited};
    sley::call_once(flag, [] { sley::this_goroutine::exit(); });
  });
  EXPECT_TRUE(eventually([&] { return exited.load(); }));
  int calls = 0;
  sley::call_once(flag, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

// Callers that give up at random points, and calls that throw: one call returns, no two are made at
// the same time, and a caller that has no error comes after it.
GO_TEST(once, a_caller_that_gives_up_leaves_the_call_to_others) {
  for (int round = 0; round < rounds(200); ++round) {
    sley::once_flag flag;
    int tries = 0, returned = 0;  // handed over by the flag
    sley::wait_group group;
    for (std::uint64_t g = 0; g < 8; ++g) {
      group.go([&, g] {
        sley_test::random_source random(static_cast<std::uint64_t>(round) * 8 + g);
        const sley_test::short_context ctx(random);
        const auto call = [&] {
          const int mine = ++tries;
          sley::this_goroutine::yield();
          EXPECT_EQ(tries, mine) << "two calls at the same time";
          if (mine <= 2) throw std::runtime_error("not yet");
          ++returned;
        };
        std::error_code error;
        try {
          sley::call_once(flag, ctx.get(), call, error);
          EXPECT_TRUE(error || returned == 1);
        } catch (const std::runtime_error&) {
        }
      });
    }
    group.wait();
    while (returned == 0) {
      try {
        sley::call_once(flag, [&] {
          if (++tries > 2) ++returned;
          if (returned == 0) throw std::runtime_error("not yet");
        });
      } catch (const std::runtime_error&) {
      }
    }
    EXPECT_EQ(returned, 1);
  }
}

FOREIGN_TEST(once, threads_and_goroutines_call_once) {
  for (int round = 0; round < rounds(100); ++round) {
    sley::once_flag flag;
    int calls = 0;
    const auto work = [&] {
      sley::call_once(flag, [&] { ++calls; });
      EXPECT_EQ(calls, 1);
    };
    sley_test::thread_group threads;
    sley::wait_group group;
    threads.go(work);
    threads.go(work);
    group.go(work);
    group.go(work);
    group.wait();
    threads.wait();
  }
}

// H19, TestOnceFunc, TestOnceValue
GO_TEST(once_value, calls_once_and_returns_the_same_object_ever_after) {
  std::atomic<int> calls{0};
  auto f = sley::once_value([&] {
    sley::this_goroutine::yield();
    ++calls;
    return std::string("text");
  });
  static_assert(std::is_same_v<decltype(f()), const std::string&>);
  const auto copy = f;
  sley::wait_group group;
  for (int g = 0; g < 10; ++g) group.go([&] { EXPECT_EQ(&f(), &copy()); });
  group.wait();
  EXPECT_EQ(f(), "text");
  EXPECT_EQ(calls, 1);

  int runs = 0;
  const auto nothing = sley::once_value([&] { ++runs; });
  static_assert(std::is_void_v<decltype(nothing())>);
  nothing();
  nothing();
  EXPECT_EQ(runs, 1);

  int target = 0;
  const auto reference = sley::once_value([&]() -> int& { return target; });
  reference() = 7;
  EXPECT_EQ(target, 7);
  EXPECT_EQ(*sley::once_value([] { return std::make_unique<int>(5); })(), 5);
}

// H19, TestOnceFuncPanic
GO_TEST(once_value, every_caller_gets_the_same_exception) {
  int calls = 0;
  const auto f = sley::once_value([&]() -> int { throw std::runtime_error("x"), ++calls; });
  const auto g = sley::once_value([&] {
    ++calls;
    throw std::make_shared<int>(1);
  });
  EXPECT_THROW(f(), std::runtime_error);
  std::shared_ptr<int> first;
  for (int i = 0; i < 3; ++i) {
    try {
      g();
      ADD_FAILURE() << "nothing thrown";
    } catch (const std::shared_ptr<int>& thrown) {
      if (i == 0) first = thrown;
      EXPECT_EQ(thrown, first);
    }
  }
  EXPECT_EQ(calls, 1);
}

// H19, TestOnceFuncGoexit
GO_TEST(once_value, a_context_ends_the_wait_for_the_call) {
  sley::chan<void> go_on;
  const auto value = sley::once_value([go_on] {
    go_on.receive();
    return 7;
  });
  go_until_parked([value] { EXPECT_EQ(value(), 7); });
  const auto [ctx, cancel] = sley::with_cancel({});
  sley::wait_group group;
  group.go([&, c = ctx] { EXPECT_THROW(value(c), std::system_error); });
  let_others_run();
  cancel();
  group.wait();
  go_on.close();
  EXPECT_EQ(value(sley::context()), 7);
  EXPECT_THROW(value(ctx), std::system_error) << "the context is looked at first";
}

GO_TEST(once_value, a_function_that_exits_is_not_called_twice) {
  std::atomic<int> calls{0};
  const auto f = sley::once_value([&] {
    ++calls;
    sley::this_goroutine::exit();
  });
  sley::wait_group group;
  group.go([f] { f(); });
  group.wait();
  EXPECT_THROW(f(), std::future_error);
  EXPECT_EQ(calls, 1);
}

// H19, TestOnceXGC: what the function holds is let go once it has been called.
GO_TEST(once_value, the_function_is_destroyed_once_it_has_been_called) {
  const sley_test::counted_check check;
  auto held = std::make_shared<int>(1);
  const auto f = sley::once_value([held] { return sley_test::counted(*held); });
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_EQ(f().value(), 1);
  EXPECT_EQ(held.use_count(), 1);
}
