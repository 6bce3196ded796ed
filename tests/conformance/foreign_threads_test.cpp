// Threads that the runtime did not make, beyond what run_test.cpp has of them: every public
// function from many of them at once, values to and from goroutines, threads that others make
// (timers of the C library, std::async) and threads of odd kinds.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"
#include "support/use_everything.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using sley::chan;
using sley::run;
using sley_test::eventually;
using sley_test::rounds;
using sley_test::thread_group;
using sley_test::use_everything;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

FOREIGN_TEST(foreign_threads, use_every_public_function_at_once_with_goroutines) {
  thread_group threads;
  sley::wait_group goroutines;
  for (int i = 0; i < 8; ++i) {
    threads.go([] {
      for (int n = 0; n < rounds(30); ++n) use_everything();
      EXPECT_EQ(this_goroutine::id(), 0u);
      EXPECT_THROW(this_goroutine::set_name("thread"), std::logic_error);
      EXPECT_THROW(this_goroutine::exit(), std::logic_error);
    });
    goroutines.go([] {
      for (int n = 0; n < rounds(30); ++n) use_everything();
    });
  }
  threads.wait();
  goroutines.wait();
}

CHILD_MAIN(starts_in_many_threads) {
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  const std::function<void()> uses[] = {sley_test::use_channels, sley_test::use_select,
                                        sley_test::use_time, sley_test::use_locks_and_futures,
                                        sley_test::use_the_runtime};
  for (std::size_t i = 0; i < 15; ++i) {
    threads.emplace_back([&, i] {
      while (!go) {
      }
      uses[i % 5]();
    });
  }
  go = true;
  for (auto& thread : threads) thread.join();
  return sley_test::verdict();
}

TEST(foreign_threads, start_the_runtime_all_at_once) {
  for (int i = 0; i < 5; ++i) {
    const auto child = sley_test::run_child("starts_in_many_threads");
    ASSERT_EQ(child.status, 7) << child;
  }
}

// --- feeding, and being fed ----------------------------------------------------------------------

FOREIGN_TEST(foreign_threads, blocked_in_receives_are_fed_by_goroutines) {
  constexpr int receivers = 40;
  const int values = rounds(4000);
  const chan<int> c;
  std::atomic<std::int64_t> sum{0};
  thread_group threads;
  for (int i = 0; i < receivers; ++i) {
    threads.go([&, c] {
      for (const int value : c) sum += value;
    });
  }
  sley::wait_group senders;
  for (int s = 0; s < 4; ++s) {
    senders.go([=] {
      for (int i = 1; i <= values; ++i) c.send(i);
    });
  }
  senders.wait();
  c.close();
  threads.wait();
  EXPECT_EQ(sum, std::int64_t{4} * values * (values + 1) / 2);
}

FOREIGN_TEST(foreign_threads, feed_goroutines_that_wait) {
  constexpr int receivers = 40;
  const int values = rounds(4000);
  const chan<int> c;
  std::atomic<std::int64_t> sum{0};
  sley::wait_group goroutines;
  for (int i = 0; i < receivers; ++i) {
    goroutines.go([&, c] {
      for (const int value : c) sum += value;
    });
  }
  thread_group threads;
  for (int s = 0; s < 4; ++s) {
    threads.go([=] {
      for (int i = 1; i <= values; ++i) c.send(i);
    });
  }
  threads.wait();
  c.close();
  goroutines.wait();
  EXPECT_EQ(sum, std::int64_t{4} * values * (values + 1) / 2);
}

GO_TEST(foreign_threads, and_goroutines_share_a_mutex_a_group_and_a_future) {
  sley::mutex m;
  sley::wait_group group;
  std::int64_t count = 0;
  const int each = rounds(5000);
  auto answer = sley::async([] {
    this_goroutine::sleep_for(5ms);
    return 42;
  });
  const auto work = [&] {
    for (int i = 0; i < each; ++i) {
      const std::lock_guard guard(m);
      ++count;
    }
  };
  group.add(4);
  thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.go([&] {
      work();
      group.done();
    });
  }
  threads.go([&] {
    group.wait();
    EXPECT_EQ(answer.get(), 42);
  });
  for (int i = 0; i < 4; ++i) group.go(work);
  group.wait();
  threads.wait();
  EXPECT_EQ(count, std::int64_t{8} * each);
}

TEST(foreign_threads, wait_from_one_run_to_the_next) {
  const chan<int> c;
  const chan<int> back(1);
  std::atomic<bool> begun{false};
  std::thread waiting([&] {
    begun = true;
    back.send(*c.receive() + 1);
  });
  run([&] { EXPECT_TRUE(eventually([&] { return begun.load(); })); });
  const int status = run([=] {
    c.send(6);
    return *back.receive();
  });
  waiting.join();
  EXPECT_EQ(status, 7);
}

// Unlike a mutex, which has an owner.
GO_TEST(foreign_threads, may_end_with_a_semaphore_that_a_goroutine_gives_back) {
  sley::binary_semaphore s{1};
  std::thread([&s] { s.acquire(); }).join();
  EXPECT_FALSE(s.try_acquire());
  s.release();
  EXPECT_TRUE(s.try_acquire());
}

// --- threads that others make --------------------------------------------------------------------

namespace {

// Never deleted: a timer's last threads may begin after the timer is gone.
struct timer_events {
  chan<int> events;
  chan<void> over;
  std::atomic<int> inside{0};
};
void on_timer(sigval value) {
  auto& state = *static_cast<timer_events*>(value.sival_ptr);
  ++state.inside;
  sley::select(sley::on_send(state.events, 1), sley::on_receive(state.over));
  --state.inside;
}

}  // namespace

FOREIGN_TEST(foreign_threads, of_the_c_librarys_timers_call_into_the_library) {
  if (sley_test::under_sanitizer) GTEST_SKIP() << "sanitizers do not see these threads begin";
  auto& state = *new timer_events;
  sigevent event = {};
  event.sigev_value.sival_ptr = &state;
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = &on_timer;
  timer_t timer = {};
  ASSERT_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
  const itimerspec every_ms = {{0, 1'000'000}, {0, 1'000'000}};
  ASSERT_EQ(timer_settime(timer, 0, &every_ms, nullptr), 0);
  auto sum = sley::async([&state] {
    int received = 0;
    while (received < 50) received += *state.events.receive();
    return received;
  });
  EXPECT_EQ(sum.get(), 50);
  timer_delete(timer);
  state.over.close();
  EXPECT_TRUE(eventually([&] { return state.inside == 0; }));
}

GO_TEST(foreign_threads, of_std_async_exchange_values_with_goroutines) {
  const chan<int> there;
  const chan<int> back;
  constexpr int count = 20;
  for (int i = 0; i < count; ++i) sley::go([=] { back.send(*there.receive() * 2); });
  std::vector<std::future<int>> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(std::async(std::launch::async, [=] {
      there.send(i);
      return *back.receive();
    }));
  }
  int sum = 0;
  // Its get() blocks the thread.
  for (auto& result : results) sum += sley::blocking([&] { return result.get(); });
  EXPECT_EQ(sum, count * (count - 1));
}

// --- threads of odd kinds ------------------------------------------------------------------------

namespace {

void* call(void* f) {
  (*static_cast<std::function<void()>*>(f))();
  return nullptr;
}

}  // namespace

FOREIGN_TEST(foreign_threads, with_small_stacks_are_large_enough_for_the_library) {
  const std::size_t bytes = sley_test::under_sanitizer ? 1 << 20 : 64 << 10;
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  const auto least = static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN));
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::max(bytes, least)), 0);
  std::function<void()> use = [] {
    for (int i = 0; i < 3; ++i) use_everything();
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, &call, &use), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

FOREIGN_TEST(foreign_threads, with_all_signals_blocked_work_as_well) {
  std::thread([] {
    sigset_t all;
    sigfillset(&all);
    ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &all, nullptr), 0);
    for (int i = 0; i < 3; ++i) use_everything();
  }).join();
}

// The threads that the runtime makes need their signals, whichever thread starts the runtime.
CHILD_MAIN(starts_with_all_signals_blocked) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  return run([] {
    std::atomic<bool> stop{false};
    sley::wait_group hogs;
    for (int i = 0; i < sley::runtime::max_procs(); ++i) {
      hogs.go([&stop] {
        while (!stop) {
        }
      });
    }
    this_goroutine::sleep_for(5ms);
    stop = true;
    hogs.wait();
    return 7;
  });
}

TEST(foreign_threads, with_all_signals_blocked_may_start_the_runtime) {
  const auto child = sley_test::run_child("starts_with_all_signals_blocked");
  EXPECT_EQ(child.status, 7) << child;
}
