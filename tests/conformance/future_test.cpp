// async and future: a goroutine with a result or an exception.
#include "support/counted.hpp"
#include "support/harness.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using sley::future;
using sley_test::eventually;
using sley_test::rounds;

GO_TEST(future, get_returns_the_value_of_the_goroutine) {
  future<int> number = sley::async([] { return 42; });
  EXPECT_TRUE(number.valid());
  EXPECT_EQ(number.get(), 42);
  EXPECT_FALSE(number.valid());
  EXPECT_EQ(sley::async([](int a, int b) { return a + b; }, 2, 3).get(), 5);
  EXPECT_EQ(sley::async([] { return std::string("text"); }).get(), "text");
  EXPECT_EQ(*sley::async([] { return std::make_unique<int>(7); }).get(), 7);
}

GO_TEST(future, a_reference_and_nothing_are_results_as_well) {
  int target = 1;
  future<int&> reference = sley::async([&]() -> int& { return target; });
  reference.get() = 5;
  EXPECT_EQ(target, 5);
  bool ran = false;
  future<void> nothing = sley::async([&] { ran = true; });
  nothing.get();
  EXPECT_TRUE(ran);
  static_assert(std::is_void_v<decltype(nothing.get())>);
}

GO_TEST(future, get_throws_the_exception_of_the_goroutine) {
  future<int> failed = sley::async([]() -> int { throw std::runtime_error("lost"); });
  try {
    failed.get();
    ADD_FAILURE() << "nothing thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "lost");
  }
  EXPECT_FALSE(failed.valid());
  EXPECT_THROW(sley::async([] { throw 5; }).get(), int);
  int target = 0;
  EXPECT_THROW(sley::async([&]() -> int& { throw &target; }).get(), int*);
}

GO_TEST(future, a_goroutine_that_exits_breaks_its_promise) {
  auto broken = sley::async([]() -> int { sley::this_goroutine::exit(); });
  try {
    broken.get();
    ADD_FAILURE() << "nothing thrown";
  } catch (const std::future_error& error) {
    EXPECT_EQ(error.code(), std::future_errc::broken_promise);
  }
}

GO_TEST(future, without_a_result_to_come_it_throws_no_state) {
  future<int> empty;
  EXPECT_FALSE(empty.valid());
  EXPECT_THROW(empty.get(), std::future_error);
  EXPECT_THROW(empty.wait(), std::future_error);
  EXPECT_THROW((void)empty.is_ready(), std::future_error);
  future<int> used = sley::async([] { return 1; });
  used.get();
  EXPECT_THROW(used.get(), std::future_error);
}

GO_TEST(future, wait_leaves_the_result_and_is_ready_tells_of_it) {
  sley::chan<void> release;
  future<int> f = sley::async([release] {
    release.receive();
    return 3;
  });
  EXPECT_FALSE(f.is_ready());
  release.close();
  f.wait();
  EXPECT_TRUE(f.is_ready());
  f.wait();
  EXPECT_EQ(f.get(), 3);
}

GO_TEST(future, is_move_only_and_a_moved_from_one_is_empty) {
  EXPECT_FALSE(std::is_copy_constructible_v<future<int>>);
  EXPECT_FALSE(std::is_copy_assignable_v<future<int>>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<future<int>>);
  future<int> a = sley::async([] { return 1; });
  future<int> b = std::move(a);
  EXPECT_TRUE(b.valid());
  EXPECT_FALSE(a.valid());  // NOLINT(bugprone-use-after-move): this is the claim
  a = sley::async([] { return 2; });
  EXPECT_EQ(a.get() + b.get(), 3);
}

GO_TEST(future, dropping_one_does_not_wait) {
  sley::chan<void> release;
  std::atomic<bool> ended{false};
  {
    (void)sley::async([&, release] {
      release.receive();
      ended = true;
    });
  }
  EXPECT_FALSE(ended);
  release.close();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
}

GO_TEST(future, arguments_are_decay_copied_and_results_destroyed_once) {
  const sley_test::counted_check check;
  const std::size_t goroutines = sley::runtime::num_goroutines();
  {
    sley_test::counted argument(4);
    auto f = sley::async([](sley_test::counted c) { return sley_test::counted(c.value() + 1); },
                         argument);
    EXPECT_TRUE(argument.holds());
    EXPECT_EQ(f.get().value(), 5);
    int number = 1;
    auto g = sley::async([](int& n) { n = 2; }, std::ref(number));
    g.get();
    EXPECT_EQ(number, 2);
    (void)sley::async([] { return sley_test::counted(1); });
  }
  EXPECT_TRUE(eventually([=] { return sley::runtime::num_goroutines() == goroutines; }));
}

GO_TEST(future, many_at_once_each_bring_their_own) {
  std::vector<future<int>> futures;
  for (int i = 0; i < rounds(2000); ++i) {
    futures.push_back(sley::async([i] {
      if (i % 3 == 0) sley::this_goroutine::yield();
      if (i % 7 == 0) throw i;
      return i;
    }));
  }
  for (int i = 0; i < static_cast<int>(futures.size()); ++i) {
    try {
      EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i);
      EXPECT_NE(i % 7, 0);
    } catch (int thrown) {
      EXPECT_EQ(thrown, i);
      EXPECT_EQ(i % 7, 0);
    }
  }
}

FOREIGN_TEST(future, a_foreign_thread_waits_for_the_result) {
  for (int i = 0; i < rounds(500); ++i) {
    EXPECT_EQ(sley::async([i] { return i; }).get(), i);
  }
  EXPECT_THROW(sley::async([] { throw std::runtime_error("lost"); }).get(), std::runtime_error);
}
