// Aim and method as in durations_test.cpp. Here: locks, semaphores, futures, condition variables
// and rate limiters, with durations and times of any clock.
#include "support/durations.hpp"
#include "support/harness.hpp"

#include <sley/sync.hpp>

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>

using sley::chan;
using sley::time_point;
using sley_test::expect_for_ever;
using sley_test::with_each_steady_time_that_is_past;
using sley_test::with_each_steady_time_that_never_comes;
using sley_test::with_each_that_is_over;
using sley_test::with_each_that_never_ends;
using sley_test::with_each_time_that_is_past;
using sley_test::with_each_time_that_never_comes;

namespace {

// Each has a wait by `try_for(d)` and by `try_until(t)`, which say whether they got it, and
// `end()`, which makes both succeed once.
template <class Make>
void expect_limits(Make make) {
  with_each_that_never_ends([&](auto d) {
    const auto w = make();
    expect_for_ever([=] { EXPECT_TRUE(w->try_for(d)); }, [=] { w->end(); });
  });
  with_each_time_that_never_comes([&](auto t) {
    const auto w = make();
    expect_for_ever([=] { EXPECT_TRUE(w->try_until(t)); }, [=] { w->end(); });
  });
  with_each_that_is_over([&](auto d) { EXPECT_FALSE(make()->try_for(d)); });
  with_each_time_that_is_past([&](auto t) { EXPECT_FALSE(make()->try_until(t)); });
}

// A lock that a goroutine of its own holds until end().
template <class Lock>
struct held_lock {
  Lock lock;
  chan<void> over;
  chan<void> released;

  held_lock() {
    const chan<void> held;
    sley::go([this, held, o = over, r = released] {
      lock.lock();
      held.close();
      o.receive();
      lock.unlock();
      r.close();
    });
    held.receive();
  }
  ~held_lock() {
    end();
    released.receive();
  }
  void end() {
    if (!over.closed()) over.close();
  }
  template <class D>
  bool try_for(D d) {
    return is_taken(lock.try_lock_for(d));
  }
  template <class T>
  bool try_until(T t) {
    return is_taken(lock.try_lock_until(t));
  }

 private:
  bool is_taken(bool is) {
    if (is) lock.unlock();
    return is;
  }
};

struct held_shared_lock : held_lock<sley::shared_mutex> {
  template <class D>
  bool try_for(D d) {
    return is_taken(lock.try_lock_shared_for(d));
  }
  template <class T>
  bool try_until(T t) {
    return is_taken(lock.try_lock_shared_until(t));
  }

 private:
  bool is_taken(bool is) {
    if (is) lock.unlock_shared();
    return is;
  }
};

struct empty_semaphore {
  sley::counting_semaphore<> units{0};
  void end() { units.release(); }
  template <class D>
  bool try_for(D d) {
    return units.try_acquire_for(d);
  }
  template <class T>
  bool try_until(T t) {
    return units.try_acquire_until(t);
  }
};

struct taken_units {
  sley::weighted_semaphore units{2};
  taken_units() { units.acquire(2); }
  void end() { units.release(2); }
  template <class D>
  bool try_for(D d) {
    return units.try_acquire_for(2, d);
  }
  template <class T>
  bool try_until(T t) {
    return units.try_acquire_until(2, t);
  }
};

struct late_future {
  sley::promise<int> from;
  sley::future<int> result = from.get_future();
  void end() { from.set_value(1); }
  template <class D>
  bool try_for(D d) {
    return result.wait_for(d) == std::future_status::ready;
  }
  template <class T>
  bool try_until(T t) {
    return result.wait_until(t) == std::future_status::ready;
  }
};

struct late_condition {
  sley::mutex lock;
  sley::condition_variable changed;
  void end() {
    const std::lock_guard guard(lock);
    changed.notify_one();
  }
  template <class D>
  bool try_for(D d) {
    std::unique_lock guard(lock);
    return changed.wait_for(guard, d) == std::cv_status::no_timeout;
  }
  template <class T>
  bool try_until(T t) {
    std::unique_lock guard(lock);
    return changed.wait_until(guard, t) == std::cv_status::no_timeout;
  }
};

struct late_predicate {
  sley::mutex lock;
  sley::condition_variable_any changed;
  std::stop_source stop;
  bool has_come = false;
  void end() {
    const std::lock_guard guard(lock);
    has_come = true;
    changed.notify_one();
  }
  template <class D>
  bool try_for(D d) {
    std::unique_lock guard(lock);
    return changed.wait_for(guard, stop.get_token(), d, [this] { return has_come; });
  }
  template <class T>
  bool try_until(T t) {
    std::unique_lock guard(lock);
    return changed.wait_until(guard, stop.get_token(), t, [this] { return has_come; });
  }
};

template <class T>
std::shared_ptr<T> make() {
  return std::make_shared<T>();
}

}  // namespace

GO_TEST(durations, locks_wait_without_limit_or_not_at_all) {
  expect_limits(make<held_lock<sley::timed_mutex>>);
  expect_limits(make<held_lock<sley::shared_mutex>>);
  expect_limits(make<held_shared_lock>);
}

GO_TEST(durations, semaphores_wait_without_limit_or_not_at_all) {
  expect_limits(make<empty_semaphore>);
  expect_limits(make<taken_units>);
}

GO_TEST(durations, futures_and_conditions_wait_without_limit_or_not_at_all) {
  expect_limits(make<late_future>);
  expect_limits(make<late_condition>);
  expect_limits(make<late_predicate>);
}

GO_TEST(durations, a_rate_limiter_waits_until_any_time) {
  with_each_steady_time_that_never_comes([](auto t) {
    sley::rate_limiter fast(1e9, 1);
    EXPECT_TRUE(fast.try_wait_until(t));
    EXPECT_TRUE(fast.try_wait_until(t));
  });
  with_each_steady_time_that_is_past([](auto t) {
    sley::rate_limiter slow(1e-9, 1);
    EXPECT_TRUE(slow.try_wait_until(t)) << "there is one";
    EXPECT_FALSE(slow.try_wait_until(t));
  });
  for (const double rate : {0.0, 1e-300, 1e-10, 1.084e-10}) {
    sley::rate_limiter never(rate, 1);
    EXPECT_TRUE(never.allow());
    EXPECT_EQ(never.reserve().time(), time_point::max()) << rate;
  }
}
