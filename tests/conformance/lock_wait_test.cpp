// debug::metrics(): how long goroutines and threads have waited for locks. The bounds are the
// program's own times: from when the waiter is known to wait to when the lock is let go, and from
// before it came to after it went.
#include "support/harness.hpp"
#include "support/threads.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <thread>

using namespace std::chrono_literals;
using sley_test::go_until_parked;

namespace {

using clock = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

seconds waited() {
  constexpr std::string_view name = "sley_mutex_wait_seconds_total";
  for (const sley::debug::metric& m : sley::debug::metrics()) {
    if (m.name == name) return seconds(m.value);
  }
  ADD_FAILURE() << name << " is missing";
  return seconds(0);
}

constexpr auto rounding = 1us;

// `let_go` ends the waits of this many goroutines, which run `wait` and are parked in it meanwhile.
template <class Wait, class LetGo>
void expect_waits(int count, const Wait& wait, const LetGo& let_go) {
  const seconds before = waited();
  const clock::time_point began = clock::now();
  sley::wait_group group;
  for (int i = 0; i < count; ++i) {
    group.add(1);
    go_until_parked([&] {
      wait();
      group.done();
    });
  }
  const clock::time_point all_wait = clock::now();
  sley_test::compute_for(5ms);
  const seconds least = (clock::now() - all_wait) * count;
  let_go();
  group.wait();
  const seconds most = (clock::now() - began) * count;
  const seconds more = waited() - before;
  EXPECT_GE(more, least - rounding);
  EXPECT_LE(more, most + rounding);
}

}  // namespace

GO_TEST(lock_wait, is_what_waiters_of_a_mutex_have_waited) {
  sley::mutex lock;
  lock.lock();
  expect_waits(3, [&] { const std::lock_guard guard(lock); }, [&] { lock.unlock(); });
}

GO_TEST(lock_wait, is_there_also_of_a_recursive_mutex) {
  sley::recursive_mutex lock;
  lock.lock();
  expect_waits(2, [&] { const std::lock_guard guard(lock); }, [&] { lock.unlock(); });
}

GO_TEST(lock_wait, is_what_readers_and_writers_have_waited) {
  sley::shared_mutex lock;
  lock.lock();
  expect_waits(2, [&] { const std::shared_lock guard(lock); }, [&] { lock.unlock(); });
  lock.lock();
  expect_waits(2, [&] { const std::lock_guard guard(lock); }, [&] { lock.unlock(); });
  lock.lock_shared();
  expect_waits(1, [&] { const std::lock_guard guard(lock); }, [&] { lock.unlock_shared(); });
}

GO_TEST(lock_wait, counts_waits_that_were_given_up) {
  sley::mutex lock;
  const std::lock_guard guard(lock);
  const auto made = sley::with_cancel(sley::context());
  expect_waits(
      2,
      [&] {
        std::error_code error;
        lock.lock(made.first, error);
        EXPECT_TRUE(error);
      },
      [&] { made.second(); });
}

GO_TEST(lock_wait, counts_waits_of_threads) {
  sley::mutex lock;
  lock.lock();
  const seconds before = waited();
  const clock::time_point began = clock::now();
  std::thread thread([&] { const std::lock_guard guard(lock); });
  sley_test::compute_for(5ms);
  lock.unlock();
  sley::blocking([&] { thread.join(); });
  EXPECT_LE(waited() - before, clock::now() - began + rounding);
}

GO_TEST(lock_wait, is_none_of_locks_that_are_free) {
  const seconds before = waited();
  sley::mutex lock;
  sley::shared_mutex shared;
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard guard(lock);
    const std::shared_lock reader(shared);
  }
  EXPECT_EQ(waited(), before);
}
