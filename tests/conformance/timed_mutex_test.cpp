// The mutex with a deadline, and the mutex when there is much contention: a goroutine that gives up
// has changed nothing, none starves, and nothing touches a mutex that is gone.
#include "support/harness.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace sley_test;
using steady = std::chrono::steady_clock;

static_assert(std::is_same_v<sley::timed_mutex, sley::mutex>);

GO_TEST(timed_mutex, gives_up_at_the_deadline_and_not_before) {
  sley::mutex m;
  m.lock();
  sley::wait_group all;
  all.go([&] {
    const auto start = steady::now();
    EXPECT_FALSE(m.try_lock_for(2ms));
    EXPECT_GE(steady::now() - start, 2ms);
    EXPECT_FALSE(m.try_lock_until(steady::now() - 1s));
    EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 1ms));
    EXPECT_FALSE(m.try_lock_for(0s));
  });
  all.wait();
  m.unlock();
  EXPECT_TRUE(m.try_lock_for(-1s)) << "a free one is taken whatever the time is";
  m.unlock();
}

GO_TEST(timed_mutex, is_had_before_the_deadline_if_it_comes_free) {
  sley::mutex m;
  std::unique_lock held(m);
  sley::wait_group all;
  all.go([&] {
    const std::unique_lock lock(m, 1h);
    EXPECT_TRUE(lock.owns_lock());
  });
  let_others_run();
  held.unlock();
  all.wait();
}

// A goroutine that gives up as it would get the lock either has it or leaves it to the next.
GO_TEST(timed_mutex, a_goroutine_that_gives_up_does_not_lose_the_lock) {
  for (int round = 0; round < rounds(300); ++round) {
    sley::mutex m;
    int held = 0;
    std::atomic<int> successes = 0;
    sley::wait_group all;
    m.lock();
    for (int i = 0; i < 6; ++i) {
      all.go([&, i] {
        const auto limit = i % 2 == 0 ? std::chrono::nanoseconds(1h) : i * 10us;
        if (!m.try_lock_for(limit)) return;
        ++held;
        ++successes;
        m.unlock();
      });
    }
    sley::this_goroutine::sleep_for(30us);
    m.unlock();
    all.wait();
    EXPECT_TRUE(m.try_lock());
    EXPECT_EQ(held, successes);
    EXPECT_GE(held, 3);
    m.unlock();
  }
}

GO_TEST(timed_mutex, a_storm_of_locks_with_and_without_deadlines_excludes) {
  sley::mutex m;
  std::int64_t count = 0;
  std::atomic<std::int64_t> taken = 0;
  sley::wait_group all;
  for (int i = 0; i < 16; ++i) {
    all.go([&, i] {
      random_source random(static_cast<std::uint64_t>(i));
      for (int k = 0; k < rounds(2'000); ++k) {
        const bool has_it = random.one_in(2)
                                ? m.try_lock_for(std::chrono::nanoseconds(random.below(50'000)))
                                : (m.lock(), true);
        if (!has_it) continue;
        ++count;
        ++taken;
        if (random.one_in(50)) sley::this_goroutine::yield();
        if (random.one_in(200)) sley::this_goroutine::sleep_for(100us);
        m.unlock();
      }
    });
  }
  all.wait();
  EXPECT_EQ(count, taken);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

// H6 TestMutexFairness
GO_TEST(timed_mutex, a_goroutine_that_nearly_always_holds_it_starves_no_other) {
  sley::mutex m;
  std::atomic<bool> stop = false;
  sley::wait_group all;
  all.go([&] {
    while (!stop) {
      const std::lock_guard lock(m);
      const auto until = steady::now() + 100us;
      while (steady::now() < until) {
      }
    }
  });
  const auto start = steady::now();
  for (int i = 0; i < 10; ++i) {
    sley::this_goroutine::sleep_for(100us);
    const std::lock_guard lock(m);
  }
  stop = true;
  all.wait();
  EXPECT_LT(steady::now() - start, 10s);
}

// In starvation the lock goes from hand to hand: each of many goroutines that hold it for a
// while gets it.
GO_TEST(timed_mutex, goroutines_that_hold_it_for_long_get_it_in_turn) {
  constexpr int goroutines = 8;
  sley::mutex m;
  std::atomic<bool> stop = false;
  std::vector<int> turns(goroutines);
  sley::wait_group all;
  for (int i = 0; i < goroutines; ++i) {
    all.go([&, i] {
      while (!stop) {
        const std::lock_guard lock(m);
        ++turns[static_cast<std::size_t>(i)];
        sley::this_goroutine::sleep_for(500us);
      }
    });
  }
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(m);
    for (const int n : turns) {
      if (n < 5) return false;
    }
    return true;
  }));
  stop = true;
  all.wait();
  for (const int n : turns) EXPECT_GE(n, 5);
}

// The last to hold it may destroy it, also if others gave up on it a moment before.
GO_TEST(timed_mutex, may_be_destroyed_by_its_last_owner) {
  for (int round = 0; round < rounds(500); ++round) {
    struct shared {
      sley::mutex m;
      int users = 4;
    };
    auto* s = new shared;
    sley::wait_group all;
    for (int i = 0; i < 4; ++i) {
      all.go([s, i] {
        if (i % 2 == 0 && !s->m.try_lock_for(1us)) s->m.lock();
        if (i % 2 != 0) s->m.lock();
        const bool is_last = --s->users == 0;
        s->m.unlock();
        if (is_last) delete s;
      });
    }
    all.wait();
  }
}

FOREIGN_TEST(timed_mutex, threads_of_others_give_up_too) {
  sley::mutex m;
  m.lock();
  sley::chan<void> gave_up;
  std::jthread other([&] {
    EXPECT_FALSE(m.try_lock_for(1ms));
    gave_up.close();
    EXPECT_TRUE(m.try_lock_for(1h));
    m.unlock();
  });
  gave_up.receive();
  m.unlock();
}
