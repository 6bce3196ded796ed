// wait_group and mutex: what Go's sync/waitgroup_test.go and sync/mutex_test.go assert, and that
// they work with the standard's locks and from threads that the runtime did not make.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::rounds;
using namespace std::chrono_literals;

// H15, TestWaitGroup: two groups as barriers, used again and again.
GO_TEST(wait_group, two_groups_are_a_barrier_that_releases_no_goroutine_early) {
  constexpr int goroutines = 16;
  sley::wait_group first;
  sley::wait_group second;
  for (int round = 0; round < 8; ++round) {
    first.add(goroutines);
    second.add(goroutines);
    std::atomic<int> released{0};
    sley::chan<bool> exited(goroutines);
    for (int i = 0; i < goroutines; ++i) {
      sley::go([&, exited] {
        first.done();
        second.wait();
        ++released;
        exited.send(true);
      });
    }
    first.wait();
    for (int i = 0; i < goroutines; ++i) {
      EXPECT_EQ(released, 0) << "released early";
      second.done();
      if (i < goroutines - 1) sley::this_goroutine::yield();
    }
    for (int i = 0; i < goroutines; ++i) EXPECT_EQ(exited.receive(), true);
  }
}

// H15, TestWaitGroupGo
GO_TEST(wait_group, go_adds_runs_and_is_waited_for) {
  sley::wait_group group;
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) group.go([&ran] { ++ran; });
  group.wait();
  EXPECT_EQ(ran, 100);
  group.go([&ran, owned = std::make_unique<int>(1)] { ran += *owned; });
  group.wait();
  EXPECT_EQ(ran, 101);
}

GO_TEST(wait_group, a_function_is_destroyed_before_wait_returns) {
  const int tries = rounds(1000);
  for (int i = 0; i < tries; ++i) {
    sley::wait_group group;
    std::weak_ptr<int> watched;
    {
      const auto held = std::make_shared<int>(1);  // const in the function as well
      watched = held;
      group.go([held] {});
    }
    group.wait();
    ASSERT_TRUE(watched.expired());
  }
}

GO_TEST(wait_group, a_null_function_is_refused) {
  sley::wait_group group;
  void (*const nothing)() = nullptr;
  EXPECT_THROW(group.go(nothing), std::logic_error);
  group.wait();
}

GO_TEST(wait_group, a_goroutine_that_exits_is_done) {
  sley::wait_group group;
  for (int i = 0; i < 10; ++i) group.go([] { sley::this_goroutine::exit(); });
  group.wait();
}

// H16, TestWaitGroupMisuse
GO_TEST(wait_group, a_counter_below_zero_or_too_large_throws) {
  sley::wait_group group;
  group.add(1);
  group.done();
  EXPECT_THROW(group.done(), std::logic_error);
  sley::wait_group another;
  EXPECT_THROW(another.add(-1), std::logic_error);
  sley::wait_group third;
  third.add(std::numeric_limits<std::int32_t>::max());
  EXPECT_THROW(third.add(1), std::logic_error);
}

// H17, TestWaitGroupRace
GO_TEST(wait_group, wait_racing_with_the_last_two_is_never_released_early) {
  const int tries = rounds(10000);
  for (int i = 0; i < tries; ++i) {
    // Gone as soon as wait() returns: the last done() must not touch it any more.
    auto group = std::make_unique<sley::wait_group>();
    std::atomic<int> n{0};
    for (int g = 0; g < 2; ++g) {
      group->add(1);
      sley::go([&n, group = group.get()] {
        ++n;
        group->done();
      });
    }
    group->wait();
    ASSERT_EQ(n, 2) << "in try " << i;
    group.reset();
  }
}

GO_TEST(wait_group, done_releases_every_waiter) {
  sley::wait_group group;
  group.add(1);
  std::atomic<int> released{0};
  for (int i = 0; i < 20; ++i) {
    go_until_parked([&] {
      group.wait();
      ++released;
    });
  }
  EXPECT_EQ(released, 0);
  group.done();
  EXPECT_TRUE(eventually([&] { return released == 20; }));
  group.wait();
}

// TestMutex (HammerMutex)
GO_TEST(mutex, many_goroutines_exclude_each_other) {
  const int laps = rounds(1000);
  constexpr int goroutines = 100;
  sley::mutex m;
  std::int64_t counter = 0;  // guarded by m
  bool inside = false;       // guarded by m
  sley::wait_group group;
  for (int g = 0; g < goroutines; ++g) {
    group.go([&, g] {
      for (int i = 0; i < laps; ++i) {
        if ((i + g) % 3 == 0 && m.try_lock()) {
          m.unlock();
          continue;
        }
        const std::lock_guard lock(m);
        EXPECT_FALSE(inside);
        inside = true;
        ++counter;
        if (i % 50 == 0) sley::this_goroutine::yield();
        inside = false;
      }
    });
  }
  group.wait();
  EXPECT_GT(counter, std::int64_t{goroutines} * laps / 3);
}

GO_TEST(mutex, may_be_held_across_a_park) {
  sley::mutex m;
  int counter = 0;
  sley::wait_group group;
  for (int g = 0; g < 20; ++g) {
    group.go([&] {
      for (int i = 0; i < 5; ++i) {
        const std::lock_guard lock(m);
        const int before = counter;
        sley::this_goroutine::sleep_for(50us);
        counter = before + 1;
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, 100);
}

GO_TEST(mutex, try_lock_succeeds_only_if_it_is_free) {
  sley::mutex m;
  EXPECT_TRUE(m.try_lock());
  EXPECT_FALSE(m.try_lock());
  sley::chan<bool> other;
  sley::chan<void> let_go;
  auto try_it = [&m, other, let_go] {
    const bool has_it = m.try_lock();
    other.send(has_it);
    let_go.receive();
    if (has_it) m.unlock();
    other.send(true);
  };
  sley::go(try_it);
  EXPECT_EQ(other.receive(), false);
  let_go.send();
  EXPECT_EQ(other.receive(), true);
  m.unlock();
  sley::go(try_it);
  EXPECT_EQ(other.receive(), true);
  EXPECT_FALSE(m.try_lock());
  let_go.send();
  EXPECT_EQ(other.receive(), true);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

GO_TEST(mutex, waiters_are_served_in_order) {
  sley::mutex m;
  sley::wait_group group;
  std::vector<int> order;
  m.lock();
  group.add(20);
  for (int i = 0; i < 20; ++i) {
    go_until_parked([&, i] {
      {
        const std::lock_guard lock(m);
        order.push_back(i);
      }
      group.done();
    });
  }
  m.unlock();
  group.wait();  // and not by locking, which would be overtaking
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

GO_TEST(mutex, works_with_the_standards_locks) {
  sley::mutex a;
  sley::mutex b;
  {
    std::unique_lock lock(a, std::defer_lock);
    EXPECT_TRUE(lock.try_lock());
    EXPECT_FALSE(a.try_lock());
    lock.unlock();
    lock.lock();
  }
  EXPECT_TRUE(a.try_lock());
  a.unlock();
  int counter = 0;
  sley::wait_group group;
  for (int g = 0; g < 10; ++g) {
    group.go([&, g] {
      for (int i = 0; i < 100; ++i) {
        if (g % 2 == 0) {
          const std::scoped_lock both(a, b);
          ++counter;
        } else {
          const std::scoped_lock both(b, a);
          ++counter;
        }
      }
    });
  }
  group.wait();
  EXPECT_EQ(counter, 1000);
}

GO_TEST(mutex, may_be_destroyed_once_it_has_no_owner_and_no_waiter) {
  for (int i = 0; i < rounds(2000); ++i) {
    auto m = std::make_unique<sley::mutex>();
    sley::wait_group group;
    for (int g = 0; g < 3; ++g) {
      group.go([m = m.get()] { const std::lock_guard lock(*m); });
    }
    group.wait();
    m.reset();
  }
}

FOREIGN_TEST(mutex, foreign_threads_and_goroutines_exclude_each_other) {
  const int laps = rounds(5000);
  sley::mutex m;
  std::int64_t counter = 0;
  const auto work = [&] {
    for (int i = 0; i < laps; ++i) {
      const std::lock_guard lock(m);
      ++counter;
    }
  };
  sley::wait_group group;
  for (int g = 0; g < 4; ++g) group.go(work);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  group.wait();
  EXPECT_EQ(counter, std::int64_t{laps} * 8);
}

FOREIGN_TEST(wait_group, foreign_threads_wait_and_are_waited_for) {
  for (int i = 0; i < rounds(500); ++i) {
    sley::wait_group group;
    std::atomic<int> n{0};
    group.add(2);
    std::thread thread([&] {
      ++n;
      group.done();
    });
    sley::go([&] {
      ++n;
      group.done();
    });
    std::thread waiter([&] {
      group.wait();
      EXPECT_EQ(n, 2);
    });
    group.wait();
    EXPECT_EQ(n, 2);
    waiter.join();
    thread.join();
  }
}
