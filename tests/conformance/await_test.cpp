// sley::await: goroutines wait for what a coroutine could await, and for futures of the standard
// library.
#include "support/coroutines.hpp"
#include "support/harness.hpp"

#include <sley/coroutine.hpp>

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using sley::chan;
using sley::wait_group;
using sley_test::rounds;
using sley_test::task;

namespace {

// Goes on elsewhere.
struct on_a_thread {
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    std::thread([h] { h.resume(); }).detach();
  }
  int await_resume() const noexcept { return 4; }
};

struct with_a_member {
  auto operator co_await() const noexcept { return on_a_thread(); }
};
struct with_a_function {};
[[maybe_unused]] auto operator co_await(const with_a_function&) noexcept { return on_a_thread(); }

template <class R>
struct ready {
  std::function<R()> result;
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  R await_resume() { return result(); }
};

task<int> sum_of(chan<int> numbers) {
  int sum = 0;
  while (const std::optional<int> value = co_await numbers) sum += *value;
  co_return sum;
}

task<std::unique_ptr<int>> nested(chan<int> numbers) {
  const int sum = co_await sum_of(numbers);
  if (sum == 0) throw std::runtime_error("no numbers");
  co_return std::make_unique<int>(sum);
}

}  // namespace

GO_TEST(await, a_goroutine_waits_for_a_coroutine) {
  const chan<int> numbers;
  sley::go([numbers] {
    for (int i = 1; i <= 10; ++i) numbers.send(i);
    numbers.close();
  });
  const std::unique_ptr<int> sum = sley::await(nested(numbers));
  EXPECT_EQ(*sum, 55);
  EXPECT_THROW(sley::await(nested(numbers)), std::runtime_error);
}

GO_TEST(await, it_may_be_resumed_on_any_thread) {
  EXPECT_EQ(sley::await(on_a_thread()), 4);
  on_a_thread lvalue;
  EXPECT_EQ(sley::await(lvalue), 4);
  EXPECT_EQ(sley::await(with_a_member()), 4);
  EXPECT_EQ(sley::await(with_a_function()), 4);
}

FOREIGN_TEST(await, a_foreign_thread_waits_as_well) {
  EXPECT_EQ(sley::await(on_a_thread()), 4);
  EXPECT_EQ(sley::await(sley::async([] { return 5; })), 5);
}

GO_TEST(await, results_are_of_all_kinds) {
  int target = 1;
  sley::await(ready<void>{[&] { target = 2; }});
  EXPECT_EQ(target, 2);
  int& reference = sley::await(ready<int&>{[&]() -> int& { return target; }});
  EXPECT_EQ(&reference, &target);
  std::string text = "moved, as it is not to be left where it was";
  const std::string moved =
      sley::await(ready<std::string&&>{[&]() -> std::string&& { return std::move(text); }});
  EXPECT_EQ(moved.substr(0, 5), "moved");
  EXPECT_EQ(text, "");  // NOLINT(bugprone-use-after-move): this is the claim
  EXPECT_THROW(sley::await(ready<int>{[]() -> int { throw 5; }}), int);
}

GO_TEST(await, a_goroutine_awaits_every_awaitable_of_the_library) {
  const chan<int> numbers(1);
  sley::await(sley::async_send(numbers, 5));
  EXPECT_EQ(sley::await(numbers), 5);
  EXPECT_EQ(sley::await(sley::async([] { return 5; })), 5);
}

GO_TEST(await, others_run_meanwhile) {
  const sley_test::processors one(1);
  const chan<int> numbers;
  sley::go([numbers] {
    sley_test::let_others_run();
    numbers.send(5);
    numbers.close();
  });
  EXPECT_EQ(sley::await(sum_of(numbers)), 5);
}

GO_TEST(await, a_goroutine_that_exits_in_a_coroutine_ends) {
  const chan<void> done;
  sley::go([done] {
    struct closer {
      chan<void> c;
      ~closer() { c.close(); }
    } guard{done};
    sley::await(ready<void>{[] { sley::this_goroutine::exit(); }});
    ADD_FAILURE() << "goes on";
  });
  EXPECT_FALSE(done.receive());
}

GO_TEST(await, many_at_once) {
  wait_group group;
  std::atomic<int> sum{0};
  for (int i = 0; i < rounds(2000); ++i) {
    group.go([&sum] {
      const chan<int> numbers;
      sley::go([numbers] {
        numbers.send(1);
        numbers.close();
      });
      sum += sley::await(sum_of(numbers));
    });
  }
  group.wait();
  EXPECT_EQ(sum, rounds(2000));
}

// ---- futures of the standard library ----

GO_TEST(await, a_standard_future_brings_its_result) {
  std::promise<std::unique_ptr<int>> promise;
  promise.set_value(std::make_unique<int>(3));
  std::future<std::unique_ptr<int>> f = promise.get_future();
  EXPECT_EQ(*sley::await(f), 3);
  EXPECT_FALSE(f.valid());
  EXPECT_EQ(sley::await(std::async(std::launch::async, [] { return 5; })), 5);
  const std::shared_future<std::string> shared =
      std::async(std::launch::async, [] { return std::string("text"); });
  EXPECT_EQ(&sley::await(shared), &shared.get());
  int target = 0;
  EXPECT_EQ(&sley::await(std::async(std::launch::async, [&]() -> int& { return target; })),
            &target);
  sley::await(std::async(std::launch::async, [&] { target = 1; }));
  EXPECT_EQ(target, 1);
}

GO_TEST(await, a_standard_future_brings_its_error) {
  EXPECT_THROW(
      sley::await(std::async(std::launch::async, [] { throw std::runtime_error("lost"); })),
      std::runtime_error);
  std::future<int> broken = std::promise<int>().get_future();
  EXPECT_THROW(sley::await(broken), std::future_error);
  EXPECT_THROW(sley::await(std::future<int>()), std::future_error);
  EXPECT_THROW(sley::await(std::shared_future<int>()), std::future_error);
}

// Only a goroutine of the same processor can bring the result.
GO_TEST(await, others_run_while_a_standard_future_is_waited_for) {
  const sley_test::processors one(1);
  for (int i = 0; i < rounds(50); ++i) {
    std::promise<int> promise;
    sley::go([&promise, i] {
      sley::this_goroutine::yield();
      promise.set_value(i);
    });
    EXPECT_EQ(sley::await(promise.get_future()), i);
  }
}

GO_TEST(await, a_deferred_function_runs_in_the_goroutine) {
  const std::uint64_t id = sley::this_goroutine::id();
  EXPECT_EQ(sley::await(std::async(std::launch::deferred, &sley::this_goroutine::id)), id);
}
