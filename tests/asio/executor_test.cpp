// sley::executor as an executor of Asio's, and Asio's coroutines with goroutines.
#include <utility>  // the Asio of Boost 1.74 forgets it

#include "support/harness.hpp"

#include "support/threads.hpp"

#include <sley/asio.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/defer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace asio = boost::asio;

using sley::chan;
using sley::wait_group;
using sley_test::rounds;
using sley_test::threads_of_process;
using namespace std::chrono_literals;

namespace {

static_assert(asio::execution::is_executor<sley::executor>::value);
static_assert(asio::can_require<sley::executor, asio::execution::blocking_t::never_t>::value);
static_assert(!asio::can_require<sley::executor, asio::execution::blocking_t::always_t>::value);
static_assert(std::is_convertible_v<sley::executor, asio::any_io_executor>);

// A thread that runs an io_context.
class runner {
 public:
  ~runner() {
    work_.reset();
    thread_.join();
  }
  std::thread::id thread() const { return thread_.get_id(); }
  asio::io_context context;

 private:
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context);
  std::thread thread_{[this] { context.run(); }};
};

}  // namespace

GO_TEST(asio_executor, functions_run_as_goroutines) {
  const chan<std::uint64_t> places;
  const auto tell = [places] { places.send(sley::this_goroutine::id()); };
  asio::post(sley::executor(), tell);
  asio::defer(sley::executor(), tell);
  asio::dispatch(sley::executor(), tell);
  asio::post(sley::executor(), [tell, owned = std::make_unique<int>(1)] { tell(); });
  for (int i = 0; i < 4; ++i) {
    const auto place = places.receive();
    EXPECT_NE(place, 0U);
    EXPECT_NE(place, sley::this_goroutine::id());
  }
}

GO_TEST(asio_executor, it_never_calls_a_function_itself) {
  const sley::executor executor;
  EXPECT_EQ(asio::query(executor, asio::execution::blocking), asio::execution::blocking.never);
  EXPECT_EQ(asio::require(executor, asio::execution::blocking.never), executor);
  EXPECT_EQ(asio::prefer(executor, asio::execution::blocking.possibly), executor);
  EXPECT_EQ(asio::prefer(executor, asio::execution::outstanding_work.tracked), executor);
}

GO_TEST(asio_executor, any_io_executor_holds_one) {
  const asio::any_io_executor any = sley::executor();
  EXPECT_EQ(any, asio::any_io_executor(sley::executor()));
  EXPECT_EQ(&asio::query(any, asio::execution::context),
            &asio::query(sley::executor(), asio::execution::context));
  const chan<std::uint64_t> places;
  asio::post(any, [places] { places.send(sley::this_goroutine::id()); });
  EXPECT_NE(places.receive(), sley::this_goroutine::id());
  const auto work = asio::make_work_guard(sley::executor());
  EXPECT_EQ(work.get_executor(), sley::executor());
}

GO_TEST(asio_executor, a_result_comes_out_of_a_standard_future) {
  std::future<int> f = asio::post(sley::executor(), asio::use_future([] { return 5; }));
  EXPECT_EQ(sley::await(f), 5);
  asio::post(sley::executor(), sley::asio::use_goroutine);
}

// Also where they park in between, and go on on another thread.
GO_TEST(asio_executor, a_strand_runs_one_function_after_the_other) {
  const auto strand = asio::make_strand(sley::executor());
  std::atomic<int> inside{0};
  std::vector<int> order;  // not guarded, but by the strand
  wait_group group;
  const int count = rounds(500);
  group.add(count);
  for (int i = 0; i < count; ++i) {
    asio::post(strand, [&, i] {
      EXPECT_EQ(++inside, 1);
      order.push_back(i);
      sley::this_goroutine::yield();
      asio::dispatch(strand, [] {});
      --inside;
      group.done();
    });
  }
  group.wait();
  ASSERT_EQ(order.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

GO_TEST(asio_executor, a_bound_handler_runs_as_a_goroutine) {
  runner r;
  asio::steady_timer timer(r.context, 1ms);
  const chan<std::uint64_t> places;
  timer.async_wait(
      asio::bind_executor(sley::executor(), [places](const boost::system::error_code& error) {
        EXPECT_FALSE(error) << error.message();
        places.send(sley::this_goroutine::id());
      }));
  EXPECT_NE(places.receive(), 0U);
}

GO_TEST(asio_executor, functions_need_no_thread_of_asios) {
  const int before = threads_of_process() - static_cast<int>(sley::runtime::read_stats().threads);
  wait_group group;
  group.add(100);
  const auto strand = asio::make_strand(asio::any_io_executor(sley::executor()));
  for (int i = 0; i < 50; ++i) {
    asio::post(sley::executor(), [&] { group.done(); });
    asio::post(strand, [&] { group.done(); });
  }
  group.wait();
  EXPECT_TRUE(sley_test::eventually([&] {
    return threads_of_process() - static_cast<int>(sley::runtime::read_stats().threads) <= before;
  }));
}

// ---- Asio's coroutines ----

#ifdef BOOST_ASIO_HAS_CO_AWAIT

namespace {

asio::awaitable<int> sum_of(chan<int> numbers) {
  int sum = 0;
  while (const std::optional<int> value = numbers.receive()) sum += *value;  // parks
  co_return sum;
}

}  // namespace

GO_TEST(asio_executor, a_coroutine_runs_on_goroutines_and_may_park) {
  const chan<int> numbers;
  sley::go([numbers] {
    for (int i = 1; i <= 10; ++i) numbers.send(i);
    numbers.close();
  });
  EXPECT_EQ(asio::co_spawn(sley::executor(), sum_of(numbers), sley::asio::use_goroutine), 55);
}

// The coroutine stays on the thread of its io_context; what waits for the channel is a goroutine.
GO_TEST(asio_executor, a_coroutine_of_an_io_context_waits_for_a_channel) {
  runner r;
  const chan<int> numbers;
  const auto ask = [](chan<int> from, std::thread::id place) -> asio::awaitable<int> {
    EXPECT_EQ(std::this_thread::get_id(), place);
    const int sum = co_await asio::co_spawn(sley::executor(), sum_of(from), asio::use_awaitable);
    EXPECT_EQ(std::this_thread::get_id(), place);
    co_return sum;
  };
  sley::go([numbers] {
    numbers.send(5);
    numbers.close();
  });
  EXPECT_EQ(asio::co_spawn(r.context, ask(numbers, r.thread()), sley::asio::use_goroutine), 5);
}

GO_TEST(asio_executor, errors_of_coroutines_are_thrown) {
  const auto fail = []() -> asio::awaitable<int> {
    throw std::runtime_error("lost");
    co_return 1;
  };
  EXPECT_THROW(asio::co_spawn(sley::executor(), fail(), sley::asio::use_goroutine),
               std::runtime_error);
  const auto fail_with_nothing = []() -> asio::awaitable<void> {
    throw std::runtime_error("lost");
    co_return;
  };
  EXPECT_THROW(asio::co_spawn(sley::executor(), fail_with_nothing(), sley::asio::use_goroutine),
               std::runtime_error);
}

GO_TEST(asio_executor, a_coroutine_on_goroutines_waits_for_operations_of_an_io_context) {
  runner r;
  const auto wait = [](asio::io_context& context) -> asio::awaitable<std::uint64_t> {
    asio::steady_timer timer(context, 1ms);
    co_await timer.async_wait(asio::use_awaitable);
    co_return sley::this_goroutine::id();
  };
  EXPECT_NE(asio::co_spawn(sley::executor(), wait(r.context), sley::asio::use_goroutine), 0U);
}

GO_TEST(asio_executor, many_coroutines_at_once) {
  wait_group group;
  const int count = rounds(2000);
  group.add(count);
  const auto step = [](wait_group& done) -> asio::awaitable<void> {
    const auto executor = co_await asio::this_coro::executor;
    for (int i = 0; i < 3; ++i) co_await asio::post(executor, asio::use_awaitable);
    done.done();
  };
  for (int i = 0; i < count; ++i) asio::co_spawn(sley::executor(), step(group), asio::detached);
  group.wait();
}

#endif

// The last test: the thread that Asio starts for it stays.
GO_TEST(asio_executor, timers_can_be_made_with_it) {
  asio::steady_timer timer(asio::any_io_executor(sley::executor()), 1ms);
  const chan<std::uint64_t> places;
  timer.async_wait([places](const boost::system::error_code& error) {
    EXPECT_FALSE(error) << error.message();
    places.send(sley::this_goroutine::id());
  });
  EXPECT_NE(places.receive(), 0U);
}
