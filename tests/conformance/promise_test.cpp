// promise, packaged_task, shared_future and timed waits for a future: the conditions of [futures].
#include "support/counted.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using sley::future;
using sley::future_status;
using sley::packaged_task;
using sley::promise;
using sley::shared_future;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

// The code of the future_error that f() throws.
template <class F>
std::error_code error_of(F f) {
  try {
    f();
  } catch (const std::future_error& error) {
    return error.code();
  }
  return {};
}

template <class T>
std::error_code error_of(future<T>& f) {
  return error_of([&] { f.get(); });
}

}  // namespace

static_assert(!std::is_copy_constructible_v<promise<int>>);
static_assert(std::is_nothrow_move_constructible_v<promise<int>>);
static_assert(std::is_nothrow_move_assignable_v<promise<int&>>);
static_assert(!std::is_copy_constructible_v<packaged_task<void()>>);
static_assert(std::is_nothrow_move_constructible_v<packaged_task<void()>>);
static_assert(std::is_copy_constructible_v<shared_future<int>>);
static_assert(std::is_same_v<decltype(std::declval<shared_future<int>>().get()), const int&>);
static_assert(std::is_same_v<decltype(std::declval<shared_future<int&>>().get()), int&>);
static_assert(std::is_void_v<decltype(std::declval<shared_future<void>>().get())>);

GO_TEST(promise, brings_a_value_a_reference_or_nothing) {
  promise<std::string> text;
  future<std::string> text_future = text.get_future();
  EXPECT_FALSE(text_future.is_ready());
  text.set_value("text");
  EXPECT_EQ(text_future.get(), "text");

  promise<std::unique_ptr<int>> moved;
  moved.set_value(std::make_unique<int>(3));
  EXPECT_EQ(*moved.get_future().get(), 3);

  int target = 0;
  promise<int&> reference;
  reference.set_value(target);
  reference.get_future().get() = 5;
  EXPECT_EQ(target, 5);

  promise<void> nothing;
  nothing.set_value();
  nothing.get_future().get();
}

// The state may live on with the promise.
GO_TEST(promise, a_thrown_exception_ends_with_its_handler) {
  const int before = sley_test::counted::objects();
  promise<void> lost;
  future<void> result = lost.get_future();
  lost.set_exception(std::make_exception_ptr(sley_test::counted(1)));
  EXPECT_EQ(sley_test::counted::objects(), before + 1);
  EXPECT_THROW(result.get(), sley_test::counted);
  EXPECT_EQ(sley_test::counted::objects(), before);
}

GO_TEST(promise, set_value_wakes_the_waiter) {
  promise<int> p;
  auto f = p.get_future();
  sley::chan<int> result;
  go_until_parked([&, result] { result.send(f.get()); });
  p.set_value(7);
  EXPECT_EQ(result.receive(), 7);
}

GO_TEST(promise, an_exception_comes_out_of_get) {
  promise<int> p;
  auto f = p.get_future();
  p.set_exception(std::make_exception_ptr(std::runtime_error("lost")));
  EXPECT_THROW(f.get(), std::runtime_error);
}

GO_TEST(promise, one_that_goes_unkept_is_broken) {
  future<int> f;
  {
    promise<int> p;
    f = p.get_future();
  }
  EXPECT_EQ(error_of(f), std::future_errc::broken_promise);
  promise<int> p;
  f = p.get_future();
  p = promise<int>();
  EXPECT_EQ(error_of(f), std::future_errc::broken_promise);
}

GO_TEST(promise, is_kept_once_and_its_future_taken_once) {
  promise<int> p;
  auto f = p.get_future();
  EXPECT_EQ(error_of([&] { p.get_future(); }), std::future_errc::future_already_retrieved);
  p.set_value(1);
  const auto again = std::future_errc::promise_already_satisfied;
  EXPECT_EQ(error_of([&] { p.set_value(2); }), again);
  EXPECT_EQ(error_of([&] { p.set_exception(std::make_exception_ptr(3)); }), again);
  EXPECT_EQ(f.get(), 1);
  EXPECT_FALSE(f.valid());
  EXPECT_EQ(error_of([&] { f.get(); }), std::future_errc::no_state);
}

GO_TEST(promise, without_state_it_says_so) {
  promise<int> p;
  promise<int> q = std::move(p);
  const auto none = std::future_errc::no_state;
  EXPECT_EQ(error_of([&] { p.get_future(); }), none);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(error_of([&] { p.set_value(1); }), none);
  EXPECT_EQ(error_of([&] { p.set_exception(std::make_exception_ptr(1)); }), none);
  swap(p, q);
  p.set_value(4);
  EXPECT_EQ(p.get_future().get(), 4);
  future<int> f;
  EXPECT_EQ(error_of([&] { f.wait(); }), none);
  EXPECT_EQ(error_of([&] { f.wait_for(1s); }), none);
  EXPECT_EQ(error_of([&] { shared_future<int>().get(); }), none);
}

// [futures.promise]: an exception of the copy comes out, and the promise is as it was.
GO_TEST(promise, a_value_with_a_throwing_copy_is_not_set) {
  struct fragile {
    fragile() = default;
    fragile(const fragile& other) : breaks(other.breaks) {
      if (breaks) throw std::runtime_error("broken");
    }
    bool breaks = false;
  };
  promise<fragile> p;
  auto f = p.get_future();
  fragile value;
  value.breaks = true;
  EXPECT_THROW(p.set_value(value), std::runtime_error);
  EXPECT_FALSE(f.is_ready());
  value.breaks = false;
  p.set_value(value);
  f.get();
}

GO_TEST(promise, values_are_destroyed_once) {
  const sley_test::counted_check check;
  promise<sley_test::counted> p;
  p.set_value(sley_test::counted(1));
  auto f = p.get_future();
  promise<sley_test::counted> unread;
  unread.set_value(sley_test::counted(2));
  EXPECT_EQ(f.get().value(), 1);
}

GO_TEST(promise, takes_its_memory_from_an_allocator) {
  promise<int> p(std::allocator_arg, std::allocator<char>());
  p.set_value(1);
  EXPECT_EQ(p.get_future().get(), 1);
}

GO_TEST(promise, one_of_many_goroutines_sets_the_value) {
  for (int round = 0; round < rounds(300); ++round) {
    promise<int> p;
    auto f = p.get_future();
    std::atomic<int> kept{0};
    std::atomic<int> winner{-1};
    sley::wait_group group;
    for (int g = 0; g < 4; ++g) {
      group.go([&, g] {
        if (!error_of([&] { p.set_value(g); })) {
          ++kept;
          winner = g;
        }
      });
    }
    const int value = f.get();
    group.wait();
    EXPECT_EQ(kept, 1);
    EXPECT_EQ(value, winner);
  }
}

GO_TEST(future, a_timed_wait_ends_by_the_result_or_the_time) {
  promise<int> p;
  auto f = p.get_future();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(f.wait_for(2ms), future_status::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
  EXPECT_EQ(f.wait_until(std::chrono::system_clock::now() + 1ms), future_status::timeout);
  EXPECT_EQ(f.wait_for(-1s), future_status::timeout);
  sley::chan<future_status> result;
  go_until_parked([&, result] { result.send(f.wait_for(1h)); });
  p.set_value(1);
  EXPECT_EQ(result.receive(), future_status::ready);
  EXPECT_EQ(f.wait_for(0s), future_status::ready);
  EXPECT_EQ(f.wait_until(std::chrono::system_clock::time_point::min()), future_status::ready);
  EXPECT_EQ(f.get(), 1);
}

GO_TEST(future, a_timeout_just_when_the_result_comes_is_one_or_the_other) {
  for (int round = 0; round < rounds(500); ++round) {
    promise<int> p;
    auto f = p.get_future();
    sley::wait_group group;
    group.go([&] {
      const auto status = f.wait_for(std::chrono::nanoseconds(50 * round));
      EXPECT_TRUE(status == future_status::timeout || f.is_ready());
      EXPECT_EQ(f.get(), round);
    });
    sley::this_goroutine::yield();
    p.set_value(round);
    group.wait();
  }
}

GO_TEST(shared_future, all_copies_get_the_same_object) {
  promise<std::string> p;
  shared_future<std::string> f = p.get_future().share();
  EXPECT_TRUE(f.valid());
  sley::wait_group group;
  std::atomic<const std::string*> seen{nullptr};
  for (int g = 0; g < 10; ++g) {
    group.go([&, f] {
      const std::string& text = f.get();
      EXPECT_EQ(text, "text");
      const std::string* before = seen.exchange(&text);
      EXPECT_TRUE(before == nullptr || before == &text);
    });
  }
  p.set_value("text");
  group.wait();
  EXPECT_EQ(f.get(), "text");
  EXPECT_TRUE(f.valid());
  EXPECT_EQ(f.wait_for(1h), future_status::ready);
}

GO_TEST(shared_future, an_exception_comes_out_of_each) {
  shared_future<void> f = sley::async([] { throw std::runtime_error("lost"); });
  const auto copy = f;
  EXPECT_THROW(f.get(), std::runtime_error);
  EXPECT_THROW(f.get(), std::runtime_error);
  EXPECT_THROW(copy.get(), std::runtime_error);
}

GO_TEST(packaged_task, its_result_goes_to_the_future) {
  packaged_task<int(int, int)> add([](int a, int b) { return a + b; });
  auto f = add.get_future();
  sley::go([task = std::move(add)]() mutable { task(2, 3); });
  EXPECT_EQ(f.get(), 5);

  packaged_task<void(std::unique_ptr<int>)> fail([](std::unique_ptr<int> p) { throw *p; });
  auto g = fail.get_future();
  fail(std::make_unique<int>(1));
  EXPECT_THROW(g.get(), int);

  int target = 0;
  packaged_task<int&()> reference([&]() -> int& { return target; });
  reference();
  EXPECT_EQ(&reference.get_future().get(), &target);
}

GO_TEST(packaged_task, deduces_its_signature) {
  const packaged_task f(+[](int n) { return n; });
  static_assert(std::is_same_v<decltype(f), const packaged_task<int(int)>>);
  const packaged_task g([p = std::make_unique<int>(1)](char) mutable noexcept { return *p > 0; });
  static_assert(std::is_same_v<decltype(g), const packaged_task<bool(char)>>);
}

GO_TEST(packaged_task, is_called_once_and_again_after_a_reset) {
  int calls = 0;
  packaged_task<int()> task([&] { return ++calls; });
  auto first = task.get_future();
  task();
  EXPECT_EQ(error_of([&] { task(); }), std::future_errc::promise_already_satisfied);
  EXPECT_EQ(error_of([&] { task.get_future(); }), std::future_errc::future_already_retrieved);
  task.reset();
  auto second = task.get_future();
  task();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  task.reset();
  auto third = task.get_future();
  task.reset();
  EXPECT_EQ(error_of(third), std::future_errc::broken_promise);
}

GO_TEST(packaged_task, without_state_it_says_so) {
  packaged_task<void()> none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(error_of([&] { none(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { none.reset(); }), std::future_errc::no_state);
  EXPECT_EQ(error_of([&] { none.get_future(); }), std::future_errc::no_state);
  packaged_task<void()> task([] {});
  swap(none, task);
  EXPECT_TRUE(none.valid());
  none();
}

GO_TEST(packaged_task, one_that_exits_its_goroutine_breaks_its_promise) {
  packaged_task<int()> task([]() -> int { sley::this_goroutine::exit(); });
  auto f = task.get_future();
  sley::go(std::move(task));
  EXPECT_EQ(error_of(f), std::future_errc::broken_promise);
}

FOREIGN_TEST(promise, threads_bring_results_and_wait_for_them) {
  for (int round = 0; round < rounds(200); ++round) {
    promise<int> p;
    auto f = p.get_future();
    sley_test::thread_group threads;
    threads.go([&] { p.set_value(round); });
    EXPECT_EQ(f.wait_for(1h), future_status::ready);
    EXPECT_EQ(f.get(), round);
  }
}
