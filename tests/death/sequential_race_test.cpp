// With SLEYDEBUG=seqraces=1 the scheduler makes no order for the thread sanitizer, and it reports
// races of goroutines that ran one after the other. What a program may rely on makes an order.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

using sley_test::contains_match;
using sley_test::run_child;

namespace {

int added_in_turn = 0;

void add_fifty() {
  for (int i = 0; i < 50; ++i) ++added_in_turn;
}

sley_test::environment without_scheduler(const char* procs) {
  return {{"SLEYDEBUG", "seqraces=1"}, {"SLEY_MAXPROCS", procs}};
}

void expect_report_at(const char* procs, const char* name) {
  const auto child = run_child(name, without_scheduler(procs));
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_TRUE(contains_match(child.err, "WARNING: ThreadSanitizer: data race")) << child;
  EXPECT_TRUE(contains_match(child.err, "add_fifty")) << child;
}

// Goroutine 0 calls `add(0)` and goroutine 1 calls `add(1)`, once both are started. If goroutine 0
// could end before goroutine 1 is started, `ends` would make an order of their calls.
template <class F>
int run_two_goroutines(const F& add) {
  return sley::run([&add] {
    std::atomic<bool> both_are_started = false;
    sley::wait_group ends;
    for (int number = 0; number < 2; ++number) {
      ends.go([number, &add, &both_are_started] {
        while (!both_are_started.load(std::memory_order_relaxed)) sley::this_goroutine::yield();
        add(number);
      });
    }
    both_are_started.store(true, std::memory_order_relaxed);
    ends.wait();
    return 3;
  });
}

}  // namespace

CHILD_MAIN(adds_one_after_the_other) {
  std::atomic<int> turn = 0;
  return run_two_goroutines([&turn](int number) {
    while (turn.load(std::memory_order_relaxed) != number) sley::this_goroutine::yield();
    add_fifty();
    turn.store(number + 1, std::memory_order_relaxed);
  });
}

CHILD_MAIN(adds_between_sleeps) {
  return run_two_goroutines([](int) {
    for (int turn = 0; turn < 3; ++turn) {
      add_fifty();
      sley::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

TEST(sequential_race, is_reported_at_any_number_of_processors) {
  if (!sley_test::under_tsan) GTEST_SKIP() << "there is no thread sanitizer";
  for (const char* procs : {"1", "2", "4"}) {
    expect_report_at(procs, "adds_one_after_the_other");
    expect_report_at(procs, "adds_between_sleeps");
  }
}

namespace {

// In each of these a goroutine adds, and its caller before and after.

void add_around_channels() {
  for (const std::size_t capacity : {0U, 1U}) {
    const sley::chan<int> there(capacity);
    const sley::chan<int> back(capacity);
    sley::go([there, back] {
      for (const int value : there) {
        add_fifty();
        back.send(value);
      }
    });
    for (int i = 0; i < 10; ++i) {
      add_fifty();
      there.send(i);
      back.receive();
    }
    there.close();
  }
}

void add_around_select() {
  const sley::chan<int> one;
  const sley::chan<int> other;
  for (int i = 0; i < 10; ++i) {
    add_fifty();
    sley::go([to = i % 2 == 0 ? one : other] {
      add_fifty();
      to.send(1);
    });
    sley::select(sley::on_receive(one, [](auto) {}), sley::on_receive(other, [](auto) {}),
                 sley::on_timeout(std::chrono::hours(1), [] {}));
  }
}

// `Lock` is taken by goroutines that wait for each other, because the holder yields.
template <class Lock>
void add_under() {
  Lock lock;
  sley::wait_group ends;
  for (int i = 0; i < 10; ++i) {
    ends.go([&lock] {
      const std::lock_guard guard(lock);
      add_fifty();
      sley::this_goroutine::yield();
      add_fifty();
    });
  }
  ends.wait();
}

void add_under_timed_lock() {
  sley::mutex lock;
  sley::wait_group ends;
  for (int i = 0; i < 10; ++i) {
    ends.go([&lock] {
      const std::unique_lock guard(lock, std::chrono::hours(1));
      add_fifty();
      sley::this_goroutine::yield();
    });
  }
  ends.wait();
}

void add_until_a_condition() {
  sley::mutex lock;
  sley::condition_variable condition;
  bool is_met = false;
  add_fifty();
  sley::go([&] {
    add_fifty();
    const std::lock_guard guard(lock);
    is_met = true;
    condition.notify_one();
  });
  std::unique_lock guard(lock);
  condition.wait(guard, [&] { return is_met; });
}

void add_once() {
  sley::once_flag flag;
  sley::wait_group ends;
  for (int i = 0; i < 4; ++i) {
    ends.go([&flag] {
      sley::call_once(flag, [] {
        add_fifty();
        sley::this_goroutine::yield();
      });
      EXPECT_NE(added_in_turn, 0);
    });
  }
  ends.wait();
}

void add_for_a_future() {
  sley::future<int> sum = sley::async([] {
    add_fifty();
    return added_in_turn;
  });
  EXPECT_EQ(sum.get(), added_in_turn);
}

void add_until_a_context_ends() {
  const auto work = sley::with_cancel(sley::context::background());
  sley::go([cancel = work.second] {
    add_fifty();
    cancel();
  });
  work.first.done().receive();
}

void add_around_a_deadline() {
  const auto work = sley::with_timeout(sley::context::background(), std::chrono::milliseconds(1));
  sley::wait_group end;
  end.go([done = work.first.done()] {
    done.receive();
    add_fifty();
  });
  end.wait();
}

void add_in_timers() {
  sley::wait_group end;
  end.add(1);
  const auto timer = sley::after_func(std::chrono::milliseconds(1), [&end] {
    add_fifty();
    end.done();
  });
  end.wait();
  add_fifty();
  sley::after(std::chrono::milliseconds(1)).receive();
}

void add_in_short_goroutines() {
  for (int i = 0; i < 100; ++i) {
    sley::wait_group end;
    auto captured = std::make_unique<int>(i);
    end.go([captured = std::move(captured)] {
      add_fifty();
      ++*captured;
    });
    end.wait();
    add_fifty();
  }
}

void add_until_an_atomic_is_set() {
  std::atomic<bool> has_added = false;
  sley::go([&has_added] {
    add_fifty();
    has_added = true;
  });
  while (!has_added) sley::this_goroutine::yield();
}

void add_in_blocking_calls() {
  sley::wait_group end;
  end.go([] { sley::blocking(add_fifty); });
  end.wait();
}

void add_in_a_pooled_object() {
  sley::object_pool<int> pool;
  sley::wait_group ends;
  for (int i = 0; i < 10; ++i) {
    ends.go([&pool] { ++*pool.get(); });
  }
  ends.wait();
}

thread_local int own_of_thread = 0;

void use_variables_of_the_thread() {
  sley::wait_group ends;
  for (int i = 0; i < 10; ++i) {
    ends.go([] {
      for (int turn = 0; turn < 3; ++turn) {
        ++own_of_thread;
        errno = 0;
        sley::this_goroutine::yield();
      }
    });
  }
  ends.wait();
}

}  // namespace

CHILD_MAIN(adds_in_order) {
  add_fifty();
  for (int turn = 0; turn < 2; ++turn) {
    sley::run([] {
      for (const auto add :
           {add_around_channels, add_around_select, add_under<sley::mutex>,
            add_under<sley::shared_mutex>, add_under_timed_lock, add_until_a_condition, add_once,
            add_for_a_future, add_until_a_context_ends, add_around_a_deadline, add_in_timers,
            add_in_short_goroutines, add_until_an_atomic_is_set, add_in_blocking_calls,
            add_in_a_pooled_object, use_variables_of_the_thread}) {
        add_fifty();
        add();
        add_fifty();
      }
    });
    add_fifty();
  }
  return 3;
}

TEST(sequential_race, is_not_seen_where_the_program_makes_an_order) {
  if (!sley_test::under_tsan) GTEST_SKIP() << "there is no thread sanitizer";
  for (const char* procs : {"1", "2", "4"}) {
    const auto child = run_child("adds_in_order", without_scheduler(procs));
    EXPECT_EQ(child.status, 3) << child;
    EXPECT_EQ(child.err, "") << child;
  }
}
