// Aim: one holder at a time, and a thread that waits long sleeps instead of burning CPU time.
// Method: real threads; tests/model/lock_model.cpp tries all their schedules.
#include <sley/detail/lock.hpp>

#include <gtest/gtest.h>
#include <time.h>

#include <memory>
#include <thread>
#include <vector>

#include "platform/os.hpp"

namespace detail = sley::detail;
namespace platform = sley::platform;

namespace {

std::uint32_t sleepers_at_all_places() {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < detail::sleeper_places; ++i) {
    sum += detail::lock_sleepers[i].load_relaxed();
  }
  return sum;
}

std::int64_t own_cpu_time_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

#ifdef SLEY_DEBUG_CHECKS
TEST(lock_death_test, taken_out_of_order_ends_the_process) {
  using detail::lock_rank;
  const auto take = [](lock_rank first, lock_rank second) {
    detail::lock a{first}, b{second};
    a.acquire();
    b.acquire();
    b.release();
    a.release();
  };
  take(lock_rank::timers, lock_rank::channel);
  take(lock_rank::channel, lock_rank::channel);
  take(lock_rank::none, lock_rank::timers);
  take(lock_rank::memory, lock_rank::none);
  EXPECT_DEATH(take(lock_rank::channel, lock_rank::timers),
               "sley: a lock of rank timers is taken under one of rank channel");
  EXPECT_DEATH(take(lock_rank::scheduler, lock_rank::scheduler),
               "sley: a lock of rank scheduler is taken under one of rank scheduler");
}
#endif

TEST(lock, threads_exclude_each_other) {
  constexpr int threads = 4;
  constexpr int rounds = 50'000;
  detail::lock lock;
  int counter = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const detail::lock_guard guard(lock);
        ++counter;
      }
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(counter, threads * rounds);
}

TEST(lock, a_long_wait_sleeps_and_is_woken) {
  constexpr std::uint32_t waiters = 3;
  const std::uint32_t before = sleepers_at_all_places();
  detail::lock lock;
  int counter = 0;
  std::int64_t cpu_ns[waiters] = {};
  std::vector<std::thread> all;
  lock.acquire();
  for (std::int64_t& used : cpu_ns) {
    all.emplace_back([&] {
      const std::int64_t start = own_cpu_time_ns();
      lock.acquire();
      ++counter;
      lock.release();
      used = own_cpu_time_ns() - start;
    });
  }
  while (sleepers_at_all_places() < before + waiters) platform::yield_thread();
  platform::sleep_ns(100'000'000);
  EXPECT_EQ(counter, 0);
  lock.release();
  for (std::thread& t : all) t.join();
  EXPECT_EQ(counter, static_cast<int>(waiters));
  for (const std::int64_t used : cpu_ns) EXPECT_LT(used, 50'000'000);
  EXPECT_EQ(sleepers_at_all_places(), before) << "the sleepers are counted out again";
}

// Holders that sleep with the lock in hand send the others to sleep again and again.
TEST(lock, no_wake_up_is_lost_among_sleepers) {
  constexpr int threads = 4;
  constexpr int rounds = 200;
  detail::lock lock;
  int counter = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) {
        const detail::lock_guard guard(lock);
        ++counter;
        if (i % 10 == 0) platform::sleep_ns(100'000);
      }
    });
  }
  for (std::thread& t : all) t.join();
  EXPECT_EQ(counter, threads * rounds);
}

// As where a wait group lives on the stack of its waiter.
TEST(lock, the_last_holder_may_free_it) {
  struct shared {
    detail::lock lock;
    int users = 2;
  };
  const auto use = [](shared* s) {
    s->lock.acquire();
    const bool is_last = --s->users == 0;
    s->lock.release();
    if (is_last) delete s;
  };
  for (int i = 0; i < 2000; ++i) {
    auto* s = new shared;
    std::thread other(use, s);
    use(s);
    other.join();
  }
}

}  // namespace
