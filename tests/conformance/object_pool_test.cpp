// object_pool, single_flight and rate_limiter: what Go's sync/pool_test.go (H20, H21, as far as it
// is about promises, see tests/README.md), x/sync/singleflight and x/time/rate assert.
#include "support/counted.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

// H20, TestPool, TestPoolNew
GO_TEST(object_pool, makes_one_only_if_none_was_given_back) {
  const sley_test::processors one(1);
  int made = 0;
  sley::object_pool<int> pool([&] { return std::make_unique<int>(made++); });
  auto a = pool.get();
  auto b = pool.get();
  EXPECT_EQ(*a, 0);
  EXPECT_EQ(*b, 1);
  const int* const given = a.get();
  a.reset();
  a = pool.get();
  EXPECT_EQ(a.get(), given) << "the one that was given back";
  const auto c = pool.get();
  EXPECT_EQ(*c, 2) << "there was no other";
  EXPECT_EQ(made, 3);
}

// H20: what a processor has at hand is a stack; Go's private slot is the top of it.
GO_TEST(object_pool, the_last_object_given_back_comes_out_first) {
  const sley_test::processors one(1);
  int made = 0;
  sley::object_pool<int> pool([&] { return std::make_unique<int>(made++); });
  std::array<sley::object_pool<int>::handle, 5> held;
  for (auto& h : held) h = pool.get();
  for (const std::size_t i : {2U, 0U, 4U, 1U, 3U}) held[i].reset();
  for (const int next : {3, 1, 4, 0, 2}) {
    auto& taken = held[static_cast<std::size_t>(next)];
    taken = pool.get();
    EXPECT_EQ(*taken, next);
  }
  EXPECT_EQ(made, 5);
}

// H20: more than a processor has at hand, which the others' share is for.
GO_TEST(object_pool, all_that_were_given_back_come_out_again) {
  const sley_test::processors one(1);
  int made = 0;
  sley::object_pool<int> pool([&] { return std::make_unique<int>(made++); });
  constexpr std::size_t many = 20;
  std::set<const int*> given;
  std::vector<sley::object_pool<int>::handle> held(many);
  for (auto& h : held) h = pool.get();
  for (const auto& h : held) given.insert(h.get());
  for (auto& h : held) h.reset();
  std::set<const int*> taken;
  for (auto& h : held) h = pool.get();
  for (const auto& h : held) taken.insert(h.get());
  EXPECT_EQ(taken, given);
  EXPECT_EQ(made, static_cast<int>(many));
}

struct object {
  std::atomic<bool> is_used{false};
  sley_test::counted value;
};

// H21, TestPoolStress
template <class Group>
void stress(Group& group, int goroutines) {
  const sley_test::counted_check check;
  std::atomic<int> made{0};
  {
    sley::object_pool<object> pool([&] {
      ++made;
      return std::make_unique<object>();
    });
    for (int g = 0; g < goroutines; ++g) {
      group.go([&] {
        for (int i = 0; i < rounds(1000); ++i) {
          std::array<sley::object_pool<object>::handle, 5> held;
          for (auto& h : held) {
            h = pool.get();
            EXPECT_FALSE(h->is_used.exchange(true)) << "two have it";
          }
          if (i % 7 == 0) sley::this_goroutine::yield();
          for (auto& h : held) h->is_used = false;
        }
      });
    }
    group.wait();
  }
  EXPECT_GT(made, 0);
}

GO_TEST(object_pool, an_object_is_one_goroutines_at_a_time) {
  sley::wait_group group;
  stress(group, 10);
}

FOREIGN_TEST(object_pool, threads_share_it_as_well) {
  sley_test::thread_group group;
  stress(group, 4);
}

GO_TEST(object_pool, keeps_a_bounded_number_that_follows_the_processors) {
  const sley_test::counted_check check;
  sley_test::processors restore;
  sley::runtime::set_max_procs(1);
  sley::object_pool<sley_test::counted> pool;
  sley::runtime::set_max_procs(4);
  const int before = sley_test::counted::objects();
  {
    std::vector<sley::object_pool<sley_test::counted>::handle> all;
    for (int i = 0; i < 1000; ++i) all.push_back(pool.get());
  }
  EXPECT_LE(sley_test::counted::objects() - before, 100);
}

GO_TEST(single_flight, a_call_that_joins_a_flight_gets_its_result) {
  sley::single_flight<std::string, int> flights;
  std::atomic<int> calls{0};
  sley::chan<void> land;
  sley::wait_group group;
  group.add(5);
  for (int i = 0; i < 5; ++i) {
    go_until_parked([&, land] {
      EXPECT_EQ(flights.do_("key",
                            [&] {
                              land.receive();
                              return ++calls;
                            }),
                1);
      group.done();
    });
  }
  EXPECT_EQ(flights.do_("another", [] { return 5; }), 5);
  land.close();
  group.wait();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(flights.do_("key", [&] { return ++calls; }), 2);
}

GO_TEST(single_flight, an_exception_comes_out_of_all) {
  sley::single_flight<int, void> flights;
  sley::chan<void> land;
  std::atomic<int> thrown{0};
  sley::wait_group group;
  group.add(3);
  for (int i = 0; i < 3; ++i) {
    go_until_parked([&, land] {
      try {
        flights.do_(1, [&] {
          land.receive();
          throw std::runtime_error("lost");
        });
      } catch (const std::runtime_error&) {
        ++thrown;
      }
      group.done();
    });
  }
  land.close();
  group.wait();
  EXPECT_EQ(thrown, 3);
}

GO_TEST(single_flight, a_context_ends_the_wait_for_the_call_of_another) {
  sley::single_flight<int, int> flights;
  const sley::chan<void> land;
  const sley::chan<int> result;
  go_until_parked(
      [&] { result.send(flights.do_(1, sley::context(), [&] { return land.receive(), 1; })); });
  const auto [ctx, cancel] = sley::with_cancel({});
  const auto no_call = []() -> int { throw std::logic_error("called again"); };
  const sley::chan<std::error_code> error;
  go_until_parked([&, c = ctx] {
    try {
      flights.do_(1, c, no_call);
      error.send(std::error_code());
    } catch (const std::system_error& e) {
      error.send(e.code());
    }
  });
  cancel();
  EXPECT_EQ(error.receive(), sley::context_errc::canceled);
  EXPECT_THROW(flights.do_(2, ctx, no_call), std::system_error);
  land.close();
  EXPECT_EQ(result.receive(), 1);
}

// TestForget
GO_TEST(single_flight, a_key_that_is_forgotten_is_called_again) {
  sley::single_flight<int, int> flights;
  sley::chan<void> land;
  sley::wait_group group;
  group.add(1);
  go_until_parked([&, land] {
    EXPECT_EQ(flights.do_(1,
                          [&] {
                            land.receive();
                            return 1;
                          }),
              1);
    group.done();
  });
  flights.forget(1);
  sley::chan<void> second_lands;
  group.add(2);
  for (int i = 0; i < 2; ++i) {
    go_until_parked([&, second_lands] {
      EXPECT_EQ(flights.do_(1,
                            [&] {
                              second_lands.receive();
                              return 2;
                            }),
                2);
      group.done();
    });
  }
  land.close();
  let_others_run();  // the first lands, and leaves the second alone
  second_lands.close();
  group.wait();
}

GO_TEST(single_flight, a_call_that_exits_its_goroutine_breaks_its_promise) {
  sley::single_flight<int, int> flights;
  sley::chan<void> under_way;
  sley::chan<void> land;
  sley::wait_group group;
  group.go([&, under_way, land] {
    flights.do_(1, [&]() -> int {
      under_way.send();
      land.receive();
      sley::this_goroutine::exit();
    });
  });
  under_way.receive();
  group.add(1);
  go_until_parked([&] {
    EXPECT_THROW(flights.do_(1, [] { return 1; }), std::future_error);
    group.done();
  });
  land.close();
  group.wait();
  EXPECT_EQ(flights.do_(1, [] { return 2; }), 2);
}

constexpr double hourly = 1.0 / 3600;

GO_TEST(rate_limiter, allows_a_burst_and_then_the_steady_rate) {
  sley::rate_limiter limiter(hourly, 3);
  EXPECT_TRUE(limiter.allow(2));
  EXPECT_FALSE(limiter.allow(2));
  EXPECT_TRUE(limiter.allow());
  EXPECT_FALSE(limiter.allow());
  EXPECT_TRUE(limiter.allow(0));
  EXPECT_FALSE(limiter.allow(4));
}

GO_TEST(rate_limiter, reservations_have_their_times_in_order) {
  sley::rate_limiter limiter(hourly, 2);
  const auto now = limiter.reserve(2);
  ASSERT_TRUE(now.ok());
  EXPECT_LE(now.time(), steady_clock::now());
  const auto first = limiter.reserve();
  auto second = limiter.reserve();
  EXPECT_GE(first.time(), now.time() + 59min);
  EXPECT_LE(first.time(), now.time() + 61min);
  EXPECT_GE(second.time() - first.time(), 59min);
  EXPECT_LE(second.time() - first.time(), 61min);
  second.cancel();
  second.cancel();
  const auto again = limiter.reserve();
  EXPECT_LE(again.time() - first.time(), 61min) << "the place is free again";
  EXPECT_FALSE(limiter.reserve(3).ok());
}

GO_TEST(rate_limiter, a_caller_that_would_be_late_does_not_wait) {
  sley::rate_limiter limiter(hourly, 1);
  EXPECT_TRUE(limiter.try_wait_until(steady_clock::now()));
  EXPECT_FALSE(limiter.try_wait_until(steady_clock::now() + 10min));
  EXPECT_FALSE(limiter.try_wait_until(steady_clock::time_point::max(), 2));
  EXPECT_LE(limiter.reserve().time(), steady_clock::now() + 61min) << "nothing was taken";
}

GO_TEST(rate_limiter, waits_share_the_rate) {
  sley::rate_limiter limiter(2000, 1);
  const auto begin = steady_clock::now();
  sley::wait_group group;
  for (int g = 0; g < 4; ++g) {
    group.go([&] {
      for (int i = 0; i < 5; ++i) limiter.wait();
    });
  }
  group.wait();
  EXPECT_GE(steady_clock::now() - begin, 19 * 500us);
}

GO_TEST(rate_limiter, without_a_rate_only_the_burst_is_there) {
  sley::rate_limiter limiter(0, 2);
  limiter.wait(2);
  EXPECT_FALSE(limiter.try_wait_until(steady_clock::now() + 1h));
  EXPECT_EQ(limiter.reserve().time(), steady_clock::time_point::max());
}

GO_TEST(rate_limiter, misuse_throws) {
  EXPECT_THROW(sley::rate_limiter(-1, 1), std::logic_error);
  EXPECT_THROW(sley::rate_limiter(1, -1), std::logic_error);
  sley::rate_limiter limiter(1, 1);
  EXPECT_THROW(limiter.allow(-1), std::logic_error);
  EXPECT_THROW(limiter.wait(2), std::logic_error);
}
