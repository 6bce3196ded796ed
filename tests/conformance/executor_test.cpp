// <sley/executor.hpp>: functions as goroutines, where an executor is wanted.
#include "support/harness.hpp"

#include <sley/executor.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace {

static_assert(std::is_nothrow_copy_constructible_v<sley::executor>);
static_assert(std::is_nothrow_destructible_v<sley::executor>);
static_assert(noexcept(sley::executor() == sley::executor()));
static_assert(sley::executor() == sley::executor());

}  // namespace

GO_TEST(executor, a_function_runs_in_a_goroutine_of_its_own_and_may_park) {
  const sley::chan<std::uint64_t> places;
  const sley::executor executor;
  executor.execute([places] { places.send(sley::this_goroutine::id()); });
  executor.execute(
      [places, owned = std::make_unique<int>(1)] { places.send(sley::this_goroutine::id()); });
  const auto first = places.receive();
  const auto second = places.receive();
  EXPECT_NE(first, second);
  EXPECT_NE(first, sley::this_goroutine::id());
  EXPECT_NE(second, sley::this_goroutine::id());
}

FOREIGN_TEST(executor, a_foreign_thread_has_functions_run) {
  sley::wait_group group;
  std::atomic<int> ran{0};
  group.add(100);
  for (int i = 0; i < 100; ++i) {
    sley::executor().execute([&] {
      EXPECT_NE(sley::this_goroutine::id(), 0U);
      ++ran;
      group.done();
    });
  }
  group.wait();
  EXPECT_EQ(ran, 100);
}
