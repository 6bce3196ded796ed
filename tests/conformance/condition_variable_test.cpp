// condition_variable and condition_variable_any: the conditions of [thread.condition], and what
// Go's sync/cond_test.go asserts (H10 to H13; H14, a copy, does not compile).
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <vector>

using sley::cv_status;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::rounds;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using std::chrono::system_clock;
using lock_type = std::unique_lock<sley::mutex>;

static_assert(!std::is_copy_constructible_v<sley::condition_variable>);
static_assert(!std::is_copy_constructible_v<sley::condition_variable_any>);
static_assert(noexcept(std::declval<sley::condition_variable&>().notify_one()));
static_assert(noexcept(std::declval<sley::condition_variable&>().notify_all()));

// H10, TestCondSignal
GO_TEST(condition_variable, each_notify_one_wakes_exactly_one) {
  sley::mutex m;
  sley::condition_variable changed;
  sley::wait_group group;
  constexpr int waiters = 5;
  sley::chan<bool> running(waiters);
  sley::chan<bool> awake(waiters);
  for (int i = 0; i < waiters; ++i) {
    group.go([&, running, awake] {
      lock_type lock(m);
      running.send(true);
      changed.wait(lock);
      awake.send(true);
    });
  }
  for (int i = 0; i < waiters; ++i) running.receive();
  for (int n = waiters; n > 0; --n) {
    EXPECT_EQ(awake.size(), 0U) << "awake without a notification";
    {
      const std::lock_guard lock(m);
      changed.notify_one();
    }
    awake.receive();
    EXPECT_EQ(awake.size(), 0U) << "too many are awake";
  }
  changed.notify_one();
  group.wait();
}

// H11, TestCondSignalGenerations
GO_TEST(condition_variable, waiters_are_woken_in_the_order_in_which_they_began_to_wait) {
  sley::mutex m;
  sley::condition_variable changed;
  sley::wait_group group;
  constexpr int waiters = 100;
  sley::chan<bool> running(waiters);
  sley::chan<int> awake(waiters);
  for (int i = 0; i < waiters; ++i) {
    group.go([&, i, running, awake] {
      lock_type lock(m);
      running.send(true);
      changed.wait(lock);
      awake.send(i);
    });
    if (i > 0) {
      EXPECT_EQ(awake.receive(), i - 1);
    }
    running.receive();
    const std::lock_guard lock(m);
    changed.notify_one();
  }
  EXPECT_EQ(awake.receive(), waiters - 1);
  group.wait();
}

// H12, TestCondBroadcast
GO_TEST(condition_variable, notify_all_wakes_each_exactly_once) {
  sley::mutex m;
  sley::condition_variable changed;
  sley::wait_group group;
  constexpr int waiters = 200;
  const int laps = rounds(200);
  sley::chan<int> running(waiters);
  sley::chan<int> awake(waiters);
  bool over = false;  // guarded by m
  for (int i = 0; i < waiters; ++i) {
    group.go([&, i, running, awake] {
      lock_type lock(m);
      while (!over) {
        running.send(i);
        changed.wait(lock);
        awake.send(i);
      }
    });
  }
  for (int lap = 0; lap < laps; ++lap) {
    for (int i = 0; i < waiters; ++i) running.receive();
    if (lap == laps - 1) {
      const std::lock_guard lock(m);
      over = true;
    }
    EXPECT_EQ(awake.size(), 0U);
    {
      const std::lock_guard lock(m);
      changed.notify_all();
    }
    std::vector<bool> seen(waiters);
    for (int i = 0; i < waiters; ++i) {
      const auto who = static_cast<std::size_t>(*awake.receive());
      EXPECT_FALSE(seen[who]) << "woken twice";
      seen[who] = true;
    }
  }
  EXPECT_EQ(running.size(), 0U);
  changed.notify_all();
  group.wait();
}

// H13, TestCondSignalStealing
GO_TEST(condition_variable, a_newcomer_does_not_take_the_wake_of_one_that_waits) {
  for (int round = 0; round < rounds(500); ++round) {
    sley::mutex m;
    sley::condition_variable changed;
    sley::chan<void> first_waits;
    sley::chan<void> first_is_awake;
    sley::wait_group group;
    group.go([&, first_waits, first_is_awake] {
      lock_type lock(m);
      first_waits.close();
      changed.wait(lock);
      first_is_awake.close();
    });
    first_waits.receive();
    {
      const std::lock_guard lock(m);
    }  // it waits now
    bool done = false;
    group.go([&] {
      lock_type lock(m);
      while (!done) changed.wait(lock);
    });
    changed.notify_one();  // races with the second
    first_is_awake.receive();
    {
      const std::lock_guard lock(m);
      done = true;
    }
    changed.notify_all();
    group.wait();
  }
}

GO_TEST(condition_variable, a_timed_wait_reports_the_timeout_and_has_the_lock) {
  sley::mutex m;
  sley::condition_variable changed;
  lock_type lock(m);
  const auto begin = steady_clock::now();
  EXPECT_EQ(changed.wait_for(lock, 2ms), cv_status::timeout);
  EXPECT_GE(steady_clock::now() - begin, 2ms);
  EXPECT_TRUE(lock.owns_lock());
  EXPECT_FALSE(m.try_lock());
  EXPECT_EQ(changed.wait_for(lock, -1h), cv_status::timeout);
  EXPECT_EQ(changed.wait_until(lock, steady_clock::now() + 1ms), cv_status::timeout);
  const auto wall = system_clock::now() + 1ms;
  while (changed.wait_until(lock, wall) == cv_status::no_timeout) {
  }
  EXPECT_GE(system_clock::now(), wall);
  EXPECT_FALSE(changed.wait_for(lock, 1ms, [] { return false; }));
  EXPECT_TRUE(changed.wait_for(lock, 1h, [] { return true; }));
  EXPECT_FALSE(changed.wait_until(lock, wall, [] { return false; }));
  EXPECT_TRUE(changed.wait_until(lock, wall, [] { return true; }));
  bool asked = false;  // the predicate has the last word
  EXPECT_TRUE(changed.wait_until(lock, wall, [&] { return std::exchange(asked, true); }));
}

GO_TEST(condition_variable, a_timed_wait_that_is_notified_reports_no_timeout) {
  sley::mutex m;
  sley::condition_variable changed;
  bool ready = false;
  sley::wait_group group;
  group.add(2);
  go_until_parked([&] {
    {
      lock_type lock(m);
      EXPECT_EQ(changed.wait_for(lock, 1h), cv_status::no_timeout);
    }
    group.done();
  });
  go_until_parked([&] {
    {
      lock_type lock(m);
      EXPECT_TRUE(changed.wait_until(lock, system_clock::now() + 1h, [&] { return ready; }));
    }
    group.done();
  });
  {
    const std::lock_guard lock(m);
    ready = true;
  }
  changed.notify_all();
  group.wait();
}

// Tokens go through the condition variable; a taker that times out leaves none behind.
template <class Condition, class Group>
void storm(Group& group, int takers) {
  sley::mutex m;
  Condition changed;
  int tokens = 0;     // guarded by m
  int taken = 0;      // guarded by m
  bool over = false;  // guarded by m
  std::atomic<int> left{takers};
  const int made = rounds(3000);
  for (int g = 0; g < takers; ++g) {
    group.go([&, g] {
      sley_test::random_source random(static_cast<std::uint64_t>(g));
      std::unique_lock lock(m);
      while (!over || tokens > 0) {
        const auto is_ready = [&] { return tokens > 0 || over; };
        const auto limit = std::chrono::nanoseconds(random.below(30'000));
        if (random.one_in(2)) {
          changed.wait(lock, is_ready);
        } else if (!changed.wait_for(lock, limit, is_ready)) {
          continue;
        }
        if (tokens == 0) continue;
        --tokens;
        ++taken;
        // A wake that came together with a timeout may be meant for another taker.
        if (tokens > 0) changed.notify_one();
      }
      --left;
    });
  }
  for (int i = 0; i < made; ++i) {
    {
      const std::lock_guard lock(m);
      ++tokens;
    }
    changed.notify_one();
    if (i % 8 == 0) sley::this_goroutine::yield();
  }
  {
    const std::lock_guard lock(m);
    over = true;
  }
  changed.notify_all();
  group.wait();
  EXPECT_EQ(taken, made);
}

GO_TEST(condition_variable, no_token_is_lost_when_deadlines_fall_among_notifications) {
  sley::wait_group group;
  storm<sley::condition_variable>(group, 8);
}

FOREIGN_TEST(condition_variable, threads_and_their_deadlines_lose_no_token) {
  sley_test::thread_group group;
  storm<sley::condition_variable_any>(group, 3);
}

// [thread.condition.condvar]: the destructor may run when all have been notified, although they
// have not returned from wait() yet.
GO_TEST(condition_variable, may_be_destroyed_once_all_have_been_notified) {
  for (int round = 0; round < rounds(300); ++round) {
    sley::mutex m;
    auto changed = std::make_unique<sley::condition_variable>();
    int waiting = 0;  // guarded by m
    sley::wait_group group;
    for (int i = 0; i < 4; ++i) {
      group.go([&, i, changed = changed.get()] {
        lock_type lock(m);
        ++waiting;
        if (i % 2 == 0) {
          changed->wait(lock);
        } else {
          changed->wait_for(lock, std::chrono::nanoseconds(3000 + 20 * round));
        }
      });
    }
    {
      lock_type lock(m);
      while (waiting < 4) {
        lock.unlock();
        sley::this_goroutine::yield();
        lock.lock();
      }
      changed->notify_all();
      changed.reset();
    }
    group.wait();
  }
}

GO_TEST(condition_variable, waiting_without_the_lock_or_with_another_throws) {
  sley::mutex m;
  sley::mutex other;
  sley::condition_variable changed;
  lock_type unlocked(m, std::defer_lock);
  EXPECT_THROW(changed.wait(unlocked), std::logic_error);
  lock_type none;
  EXPECT_THROW(changed.wait_for(none, 1ms), std::logic_error);
  sley::chan<void> is_back;
  go_until_parked([&, is_back] {
    {
      lock_type lock(m);
      changed.wait(lock);
    }
    is_back.close();
  });
  lock_type wrong(other);
  EXPECT_THROW(changed.wait(wrong), std::logic_error);
  EXPECT_TRUE(wrong.owns_lock());
  changed.notify_one();
  is_back.receive();
}

// A lock of the user's own.
class counting_lock {
 public:
  void lock() { mutex_.lock(), ++locks; }
  void unlock() { ++unlocks, mutex_.unlock(); }
  int locks = 0;
  int unlocks = 0;

 private:
  sley::mutex mutex_;
};

GO_TEST(condition_variable_any, any_lock_is_let_go_and_taken_again) {
  counting_lock m;
  sley::condition_variable_any changed;
  std::atomic<bool> awake{false};
  go_until_parked([&] {
    m.lock();
    changed.wait(m);
    EXPECT_EQ(m.locks, 2 + 1);
    EXPECT_EQ(m.unlocks, 1 + 1);
    m.unlock();
    awake = true;
  });
  m.lock();
  m.unlock();
  changed.notify_one();
  EXPECT_TRUE(eventually([&] { return awake.load(); }));
  std::unique_lock lock(m);
  EXPECT_EQ(changed.wait_for(lock, 1ms), cv_status::timeout);
  EXPECT_FALSE(changed.wait_until(lock, system_clock::now(), [] { return false; }));
}

// [thread.condvarany.intwait]
GO_TEST(condition_variable_any, a_stop_request_ends_a_wait_with_a_false_predicate) {
  sley::mutex m;
  sley::condition_variable_any changed;
  std::stop_source source;
  sley::wait_group group;
  group.add(3);
  for (int way = 0; way < 3; ++way) {
    go_until_parked([&, way] {
      std::unique_lock lock(m);
      const auto never = [] { return false; };
      const auto token = source.get_token();
      const bool result = way == 0 ? changed.wait(lock, token, never)
                          : way == 1
                              ? changed.wait_for(lock, token, 1h, never)
                              : changed.wait_until(lock, token, steady_clock::now() + 1h, never);
      EXPECT_FALSE(result);
      EXPECT_TRUE(lock.owns_lock());
      lock.unlock();
      group.done();
    });
  }
  source.request_stop();
  group.wait();
  std::unique_lock lock(m);
  EXPECT_FALSE(changed.wait(lock, source.get_token(), [] { return false; }));
  EXPECT_TRUE(changed.wait(lock, source.get_token(), [] { return true; }));
  EXPECT_FALSE(changed.wait_for(lock, std::stop_token(), 1ms, [] { return false; }));
}

GO_TEST(condition_variable_any, no_stop_request_is_lost) {
  for (int round = 0; round < rounds(1000); ++round) {
    sley::mutex m;
    sley::condition_variable_any changed;
    std::stop_source source;
    sley::wait_group group;
    group.go([&] {
      std::unique_lock lock(m);
      EXPECT_FALSE(changed.wait(lock, source.get_token(), [] { return false; }));
    });
    if (round % 2 == 0) sley::this_goroutine::yield();
    source.request_stop();
    group.wait();
  }
}
