// <sley/coroutine.hpp>: C++20 coroutines wait for channels and futures. Lambdas with captures have
// names where they are awaited: GCC 12 destroys such captures twice.
#include "support/counted.hpp"
#include "support/coroutines.hpp"
#include "support/harness.hpp"

#include <sley/coroutine.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

using sley::async_send;
using sley::chan;
using sley::wait_group;
using sley_test::counted;
using sley_test::detached;
using sley_test::eventually;
using sley_test::owned;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

// But the main goroutine: what they held is destroyed.
bool all_have_ended() {
  return eventually([] { return sley::runtime::num_goroutines() == 1; });
}

std::uint64_t goroutines_started() { return sley::runtime::read_stats().spawned; }

}  // namespace

// ---- a coroutine receives ----

GO_TEST(coroutine, a_buffered_value_is_received_without_a_goroutine) {
  const chan<int> numbers(2);
  numbers.send(1);
  numbers.send(2);
  numbers.close();
  const std::uint64_t before = goroutines_started();
  std::vector<std::optional<int>> got;
  [&]() -> detached {
    for (int i = 0; i < 3; ++i) got.push_back(co_await numbers);
  }();
  EXPECT_EQ(got, (std::vector<std::optional<int>>{1, 2, std::nullopt}));
  EXPECT_EQ(goroutines_started(), before);
}

GO_TEST(coroutine, it_waits_for_a_value_and_goes_on_in_a_goroutine) {
  const chan<int> numbers;
  const chan<std::uint64_t> places;
  [](chan<int> from, chan<std::uint64_t> to) -> detached {
    const std::optional<int> value = co_await from;
    EXPECT_EQ(value, 5);
    to.send(sley::this_goroutine::id());  // it may park
  }(numbers, places);
  numbers.send(5);
  const std::optional<std::uint64_t> place = places.receive();
  EXPECT_NE(place, 0U);
  EXPECT_NE(place, sley::this_goroutine::id());
}

GO_TEST(coroutine, it_receives_until_the_channel_is_closed) {
  const chan<std::unique_ptr<int>> numbers(3);
  const chan<int> sums;
  [](sley::recv_chan<std::unique_ptr<int>> from, chan<int> to) -> detached {
    int sum = 0;
    while (const auto value = co_await from) sum += **value;
    to.send(sum);
  }(numbers, sums);
  for (int i = 1; i <= 100; ++i) numbers.send(std::make_unique<int>(i));
  numbers.close();
  EXPECT_EQ(sums.receive(), 5050);
}

GO_TEST(coroutine, it_receives_bare_signals) {
  const chan<void> signals;
  const chan<bool> seen(3);
  [](chan<void> from, chan<bool> to) -> detached {
    for (int i = 0; i < 3; ++i) to.send(co_await from);
  }(signals, seen);
  signals.send();
  signals.send();
  signals.close();
  EXPECT_EQ(seen.receive(), true);
  EXPECT_EQ(seen.receive(), true);
  EXPECT_EQ(seen.receive(), false);
}

GO_TEST(coroutine, it_sleeps_by_a_timer) {
  const auto start = std::chrono::steady_clock::now();
  wait_group group;
  group.add(1);
  [](wait_group& done) -> detached {
    EXPECT_TRUE(co_await sley::after(2ms));
    done.done();
  }(group);
  group.wait();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

FOREIGN_TEST(coroutine, it_may_be_suspended_on_a_foreign_thread) {
  const chan<int> numbers;
  std::promise<std::uint64_t> place;
  std::uint64_t before = 1;
  [](chan<int> from, std::uint64_t& begins, std::promise<std::uint64_t>& goes_on) -> detached {
    begins = sley::this_goroutine::id();
    EXPECT_EQ(co_await from, 5);
    goes_on.set_value(sley::this_goroutine::id());
  }(numbers, before, place);
  EXPECT_EQ(before, 0U);
  numbers.send(5);
  EXPECT_NE(place.get_future().get(), 0U);
}

// Each of them waits for its number and passes it on.
GO_TEST(coroutine, ten_thousand_wait_at_once) {
  const int count = rounds(10'000);
  const chan<int> numbers;
  const chan<int> sums(64);
  for (int i = 0; i < count; ++i) {
    [](chan<int> from, chan<int> to) -> detached {
      const std::optional<int> value = co_await from;
      co_await async_send(to, *value);
    }(numbers, sums);
  }
  sley::go([=] {
    for (int i = 0; i < count; ++i) numbers.send(i);
  });
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += *sums.receive();
  EXPECT_EQ(sum, std::int64_t{count} * (count - 1) / 2);
}

// ---- a coroutine sends ----

GO_TEST(coroutine, a_value_with_room_is_sent_without_a_goroutine) {
  const chan<long> numbers(2);
  const chan<void> signals(1);
  const std::uint64_t before = goroutines_started();
  [&]() -> detached {
    co_await async_send(numbers, 1);
    co_await async_send(sley::send_chan<long>(numbers), 2L);
    co_await async_send(signals);
  }();
  EXPECT_EQ(goroutines_started(), before);
  EXPECT_EQ(numbers.receive(), 1);
  EXPECT_EQ(numbers.receive(), 2);
  EXPECT_TRUE(signals.receive());
}

GO_TEST(coroutine, it_waits_until_its_value_is_taken) {
  const chan<std::unique_ptr<int>> numbers;
  const chan<void> signals;
  const chan<std::array<int, 100>> blocks;
  std::atomic<int> sent{0};
  [](auto n, auto s, auto b, std::atomic<int>& count) -> detached {
    co_await async_send(n, std::make_unique<int>(5));
    ++count;
    co_await async_send(s);
    ++count;
    co_await async_send(b, std::array<int, 100>{1, 2});
    ++count;
  }(numbers, signals, blocks, sent);
  EXPECT_EQ(sent, 0);
  EXPECT_EQ(**numbers.receive(), 5);
  EXPECT_TRUE(signals.receive());
  EXPECT_EQ((*blocks.receive())[1], 2);
  EXPECT_TRUE(eventually([&] { return sent == 3; }));
}

GO_TEST(coroutine, sending_on_a_closed_channel_throws_in_the_coroutine) {
  const sley_test::counted_check check;
  const chan<counted> closed;
  const chan<counted> closed_later;
  closed.close();
  std::atomic<int> thrown{0};
  const auto send = [&](chan<counted> to) -> detached {
    try {
      co_await async_send(to, counted(1));
    } catch (const sley::channel_closed&) {
      ++thrown;
    }
  };
  send(closed);
  EXPECT_EQ(thrown, 1);
  send(closed_later);
  EXPECT_EQ(thrown, 1);
  closed_later.close();
  EXPECT_TRUE(eventually([&] { return thrown == 2; }));
  EXPECT_TRUE(all_have_ended());
}

// ---- a coroutine waits for a future ----

GO_TEST(coroutine, it_waits_for_a_future) {
  const chan<void> release;
  const chan<int> results(3);
  [](chan<void> from, chan<int> to) -> detached {
    const auto wait = [from](int n) {
      from.receive();
      return n;
    };
    to.send(co_await sley::async(wait, 1));
    sley::future<int> f = sley::async(wait, 2);
    to.send(co_await f);
    EXPECT_FALSE(f.valid());
    sley::shared_future<int> shared = sley::async(wait, 3);
    const int& first = co_await shared;
    const int& second = co_await shared;
    EXPECT_EQ(&first, &second);
    to.send(first);
  }(release, results);
  for (int i = 1; i <= 3; ++i) {
    release.send();
    EXPECT_EQ(results.receive(), i);
  }
}

GO_TEST(coroutine, results_of_all_kinds_come_out_of_futures) {
  int target = 1;
  wait_group group;
  group.add(1);
  [](int& n, wait_group& done) -> detached {
    int& reference = co_await sley::async([&]() -> int& { return n; });
    EXPECT_EQ(&reference, &n);
    co_await sley::async([&] { n = 5; });
    EXPECT_EQ(n, 5);
    EXPECT_EQ(*co_await sley::async([] { return std::make_unique<int>(7); }), 7);
    done.done();
  }(target, group);
  group.wait();
}

GO_TEST(coroutine, errors_come_out_of_futures) {
  wait_group group;
  group.add(1);
  [](wait_group& done) -> detached {
    try {
      co_await sley::async([] { throw std::runtime_error("lost"); });
      ADD_FAILURE() << "nothing thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "lost");
    }
    try {
      co_await sley::future<int>();
      ADD_FAILURE() << "nothing thrown";
    } catch (const std::future_error& e) {
      EXPECT_EQ(e.code(), std::future_errc::no_state);
    }
    done.done();
  }(group);
  group.wait();
}

// ---- a coroutine is destroyed while it waits ----

GO_TEST(coroutine, a_destroyed_one_receives_nothing) {
  const sley_test::counted_check check;
  for (int i = 0; i < rounds(2000); ++i) {
    const chan<counted> values(1);
    bool has_gone_on = false;
    {
      const owned waiting = [](chan<counted> from, bool& flag) -> owned {
        co_await from;
        flag = true;
      }(values, has_gone_on);
      if (i % 2 == 0) sley::this_goroutine::yield();
    }
    values.send(counted(i));
    sley::this_goroutine::yield();
    const std::optional<counted> value = values.receive();
    EXPECT_TRUE(value && value->value() == i);
    EXPECT_FALSE(has_gone_on);
  }
  EXPECT_TRUE(all_have_ended());
}

GO_TEST(coroutine, a_destroyed_one_sends_nothing) {
  const sley_test::counted_check check;
  for (int i = 0; i < rounds(2000); ++i) {
    const chan<counted> values;
    {
      const owned waiting = [](chan<counted> to) -> owned {
        co_await async_send(to, counted(1));
      }(values);
      if (i % 2 == 0) sley::this_goroutine::yield();
    }
    sley::go([values] { values.send(counted(2)); });
    const std::optional<counted> value = values.receive();
    EXPECT_TRUE(value && value->value() == 2);
  }
  EXPECT_TRUE(all_have_ended());
}

GO_TEST(coroutine, one_that_waits_for_ever_is_destroyed) {
  const owned receives = []() -> owned { co_await chan<int>(nullptr); }();
  const owned sends = []() -> owned { co_await async_send(chan<int>(nullptr), 1); }();
  sley_test::let_others_run();
}

GO_TEST(coroutine, one_that_waits_for_a_future_is_destroyed) {
  const sley_test::counted_check check;
  const chan<void> release;
  bool has_gone_on = false;
  {
    const owned waiting = [](chan<void> from, bool& flag) -> owned {
      const auto wait = [from] {
        from.receive();
        return counted(1);
      };
      co_await sley::async(wait);
      flag = true;
    }(release, has_gone_on);
    sley_test::let_others_run();
  }
  release.close();
  EXPECT_TRUE(all_have_ended());
  EXPECT_FALSE(has_gone_on);
}

GO_TEST(coroutine, one_that_has_ended_is_destroyed) {
  const chan<int> numbers;
  const owned waiting = [](chan<int> from) -> owned {
    EXPECT_EQ(co_await from, 1);
    EXPECT_EQ(co_await from, 2);
  }(numbers);
  numbers.send(1);
  numbers.send(2);
  EXPECT_TRUE(eventually([&] { return waiting.has_ended(); }));
}
