// Everything of <sley/sync.hpp>, futures, time and contexts, wherever code can run: in goroutines,
// in goroutines inside of `blocking` and locked to their threads, in threads that the runtime did
// not make, and in one run() after the other with the same objects.
//
// Four that each run somewhere else go through all of it together, so that each thing brings some
// to wait for the others. What is made anew for each round is made by a barrier's completion, and
// gone when the last one lets go of it.
#include "support/harness.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using sley::chan;
using sley_test::eventually;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

constexpr int participants = 4;

// For one round.
struct one_round {
  std::pair<sley::context, sley::cancel_function> work = sley::with_cancel(sley::context());
  sley::latch all_here{participants};
  sley::once_flag once;
  std::atomic<int> calls{0};
  sley::promise<int> promise;
  sley::shared_future<int> promised = promise.get_future().share();
  sley::packaged_task<int(int)> task{[](int n) { return n + 1; }};
  sley::shared_future<int> result = task.get_future().share();
  sley::wait_group group;
  sley::error_group errors{work.first};
};

struct new_round {
  std::shared_ptr<one_round>* current;
  void operator()() const noexcept { *current = std::make_shared<one_round>(); }
};

// What all use, round after round.
struct things {
  std::shared_ptr<one_round> current;  // changed while all are in the barrier
  sley::barrier<new_round> barrier{participants, {&current}};

  sley::mutex mutex;
  sley::recursive_mutex recursive;
  sley::shared_mutex shared;
  sley::condition_variable turn_changed;
  sley::condition_variable_any count_changed;
  std::array<sley::binary_semaphore, participants> ring{
      sley::binary_semaphore(1), sley::binary_semaphore(0), sley::binary_semaphore(0),
      sley::binary_semaphore(0)};
  sley::weighted_semaphore units{3};
  sley::goroutine_local<int> local;
  sley::object_pool<std::string> pool;
  sley::single_flight<int, int> flights;
  sley::rate_limiter limiter{1e6, 2};
  chan<int> values;

  int guarded = 0;  // [lock: mutex]
  int turn = 0;     // [lock: mutex]
  int nested = 0;   // [lock: recursive]
  int written = 0;  // [lock: shared]
  int count = 0;    // [lock: shared]
  int passed = 0;   // by the holder of the ring's unit
  int taken = 0;    // [lock: mutex]
};

void use_locks(things& all) {
  for (int i = 0; i < 10; ++i) {
    const std::lock_guard guard(all.mutex);
    ++all.guarded;
  }
  std::unique_lock timed(all.mutex, std::defer_lock);
  EXPECT_TRUE(timed.try_lock_for(60s));
  ++all.guarded;
  timed.unlock();
  const std::lock_guard outer(all.recursive);
  const std::lock_guard inner(all.recursive);
  ++all.nested;
  for (int i = 0; i < 5; ++i) {
    {
      const std::lock_guard writer(all.shared);
      ++all.written;
    }
    const std::shared_lock reader(all.shared);
    EXPECT_GT(all.written, 0);
  }
}

// The participant whose turn it is does not wait, and all others wait for it.
void take_turns(things& all, int self) {
  for (int i = 0; i < 3; ++i) {
    std::unique_lock lock(all.mutex);
    all.turn_changed.wait(lock, [&] { return all.turn % participants == self; });
    ++all.turn;
    all.turn_changed.notify_all();
  }
  std::unique_lock lock(all.mutex);
  EXPECT_FALSE(all.turn_changed.wait_for(lock, 10us, [] { return false; }));
  lock.unlock();

  std::unique_lock writer(all.shared);
  const int goal = (all.count / participants + 1) * participants;
  ++all.count;
  all.count_changed.notify_all();
  std::stop_source stop;
  EXPECT_TRUE(all.count_changed.wait(writer, stop.get_token(), [&] { return all.count >= goal; }));
  stop.request_stop();
  EXPECT_FALSE(all.count_changed.wait(writer, stop.get_token(), [] { return false; }));
}

void use_semaphores(things& all, int self) {
  const auto me = static_cast<std::size_t>(self);
  for (int i = 0; i < 3; ++i) {
    all.ring[me].acquire();
    EXPECT_EQ(all.passed++ % participants, self);
    all.ring[(me + 1) % participants].release();
  }
  const auto count = [&](int n) {
    const std::lock_guard guard(all.mutex);
    all.taken += n;
    EXPECT_LE(all.taken, 3);
  };
  for (int i = 0; i < 3; ++i) {
    all.units.acquire(2);
    count(2);
    sley::this_goroutine::yield();
    count(-2);
    all.units.release(2);
    EXPECT_TRUE(all.units.try_acquire_for(1, 60s));
    all.units.release(1);
  }
  all.limiter.wait();
}

void use_single_results(things& all, one_round& now, int self) {
  now.all_here.arrive_and_wait();
  sley::call_once(now.once, [&] {
    sley::this_goroutine::sleep_for(10us);
    ++now.calls;
  });
  EXPECT_EQ(now.calls, 1);
  if (self == 0) now.promise.set_value(7);
  if (self == 1) now.task(8);
  EXPECT_EQ(now.promised.get(), 7);
  EXPECT_EQ(now.result.get(), 9);
  EXPECT_EQ(sley::async([self] { return self; }).get(), self);
  EXPECT_EQ(all.flights.do_(1,
                            [] {
                              sley::this_goroutine::yield();
                              return 11;
                            }),
            11);
  const auto once = sley::once_value([] { return 12; });
  EXPECT_EQ(once(), 12);
  all.local.get() = self;
  sley::this_goroutine::yield();
  EXPECT_EQ(all.local.get(), self);
  EXPECT_NE(all.pool.get(), nullptr);
}

void use_groups(one_round& now) {
  std::atomic<int> ran{0};
  now.group.go([] { sley::this_goroutine::yield(); });
  now.group.wait();
  now.errors.go([&now] { now.work.first.done().receive(); });
  sley::error_group failing;
  failing.go([] { throw std::runtime_error("doom"); });
  EXPECT_THROW(failing.wait(), std::runtime_error);
  EXPECT_TRUE(failing.context().error());
  {
    sley::scope scope;
    for (int i = 0; i < 3; ++i) scope.go([&ran] { ++ran; });
  }
  EXPECT_EQ(ran, 3);
}

void use_time() {
  const auto start = std::chrono::steady_clock::now();
  sley::this_goroutine::sleep_for(50us);
  EXPECT_TRUE(sley::after(50us).receive());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 100us);
  sley::timer timer(60s);
  EXPECT_TRUE(timer.reset(50us));
  EXPECT_TRUE(timer.channel().receive());
  sley::ticker ticker(50us);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(ticker.channel().receive());
  const chan<void> called(1);
  const sley::timer function = sley::after_func(50us, [called] { called.send(); });
  EXPECT_TRUE(called.receive());
}

void use_contexts(things& all, one_round& now, int self) {
  const chan<void> called(1);
  const auto callback = sley::after_func(now.work.first, [called] { called.send(); });
  auto [late, cancel_late] = sley::with_timeout(now.work.first, 50us);
  late.done().receive();
  EXPECT_EQ(late.error(), sley::context_errc::deadline_exceeded);
  std::atomic<bool> is_stopped{false};
  const std::stop_callback on_stop(now.work.first.stop_token(), [&] { is_stopped = true; });
  if (self == 0) {
    for (int i = 1; i < participants; ++i) all.values.send(i);
    now.work.second();
  } else {
    int sum = 0;
    EXPECT_EQ(sley::select(sley::on_receive(now.work.first.done()),
                           sley::on_receive(all.values, [&](auto n) { sum = n.value_or(0); })),
              1u);
    EXPECT_GT(sum, 0);
  }
  now.work.first.done().receive();
  EXPECT_TRUE(called.receive());
  EXPECT_TRUE(eventually([&] { return is_stopped.load(); }));
  now.errors.wait();
}

void take_part(things& all, int self) {
  all.barrier.arrive_and_wait();
  const std::shared_ptr<one_round> now = all.current;
  use_locks(all);
  take_turns(all, self);
  use_semaphores(all, self);
  use_single_results(all, *now, self);
  use_groups(*now);
  use_time();
  use_contexts(all, *now, self);
  all.barrier.arrive_and_wait();  // before the objects go, or the round changes
}

void expect_all_counted(const things& all, int times) {
  EXPECT_EQ(all.guarded, 11 * participants * times);
  EXPECT_EQ(all.nested, participants * times);
  EXPECT_EQ(all.written, 5 * participants * times);
  EXPECT_EQ(all.turn, 3 * participants * times);
  EXPECT_EQ(all.passed, 3 * participants * times);
  EXPECT_EQ(all.taken, 0);
}

// Where participants are. From any place; each returns once the round is over for all.
using places = std::vector<std::function<void(std::function<void()>)>>;

void in_thread(const std::function<void()>& f) { std::thread(f).detach(); }
void in_goroutine(const std::function<void()>& f) { sley::go(f); }
void in_blocking(const std::function<void()>& f) {
  sley::go([f] { sley::blocking(f); });
}
void on_locked_thread(const std::function<void()>& f) {
  sley::go([f] {
    const sley::os_thread_lock lock;
    f();
  });
}

void go_round(things& all, const places& where) {
  const auto has_ended = std::make_shared<sley::latch>(participants);
  for (int self = 0; self < participants; ++self) {
    where[static_cast<std::size_t>(self) % where.size()]([&all, self, has_ended] {
      take_part(all, self);
      has_ended->count_down();
    });
  }
  has_ended->wait();
}

const places everywhere = {in_thread, in_goroutine, in_blocking, on_locked_thread};

void go_rounds(int times, const places& where) {
  things all;
  for (int i = 0; i < times; ++i) go_round(all, where);
  expect_all_counted(all, times);
}

}  // namespace

GO_TEST(everywhere, in_goroutines_and_threads_together) { go_rounds(rounds(10), everywhere); }

GO_TEST(everywhere, in_threads_that_the_runtime_did_not_make) { go_rounds(rounds(5), {in_thread}); }

GO_TEST(everywhere, in_goroutines_inside_of_blocking) { go_rounds(rounds(5), {in_blocking}); }

// No run() at all.
FOREIGN_TEST(everywhere, in_goroutines_that_threads_have_started) {
  go_rounds(rounds(5), everywhere);
}

TEST(everywhere, objects_made_in_one_run_are_used_in_the_next) {
  std::optional<things> all;
  const int times = rounds(10);
  for (int i = 0; i < times; ++i) {
    sley::run([&] {
      if (i == 0) all.emplace();
      go_round(*all, everywhere);
    });
    if (i % 3 == 0) go_round(*all, {in_thread});  // between the runs, which starts them again
  }
  expect_all_counted(*all, times + (times + 2) / 3);
  sley::run([&] { all.reset(); });
}

namespace {

// What goroutines wait for in one run, and get in another.
struct promises {
  sley::mutex mutex;
  sley::shared_mutex shared;
  chan<void> locks_gate;  // the holder of both waits for it
  sley::mutex of_condition;
  sley::condition_variable condition;
  bool is_met = false;  // [lock: of_condition]
  sley::binary_semaphore semaphore{0};
  sley::weighted_semaphore units{2};
  sley::latch latch{1};
  sley::barrier<> barrier{2};
  sley::wait_group group;
  sley::once_flag once;
  chan<void> once_gate;
  sley::promise<int> promise;
  sley::future<int> future = promise.get_future();
  chan<int> values;
  std::pair<sley::context, sley::cancel_function> work = sley::with_cancel(sley::context());
  sley::error_group errors{work.first};
  sley::timer timer{1ms};
};

// Returns how many go(wait) has been called for.
int wait_for_all(promises& all, const std::function<void(std::function<void()>)>& go) {
  const chan<void> are_locked;
  sley::go([&all, are_locked] {
    const std::scoped_lock guard(all.mutex, all.shared);
    are_locked.send();
    all.locks_gate.receive();
  });
  are_locked.receive();
  all.units.acquire(2);
  all.group.add(1);
  const std::vector<std::function<void()>> waits = {
      [&] { const std::lock_guard guard(all.mutex); },
      [&] {
        const std::unique_lock lock(all.mutex, 1h);
        EXPECT_TRUE(lock.owns_lock());
      },
      [&] { const std::shared_lock guard(all.shared); },
      [&] {
        std::unique_lock lock(all.of_condition);
        all.condition.wait(lock, [&] { return all.is_met; });
      },
      [&] {
        std::unique_lock lock(all.of_condition);
        EXPECT_TRUE(all.condition.wait_for(lock, 1h, [&] { return all.is_met; }));
      },
      [&] { all.semaphore.acquire(); },
      [&] {
        all.units.acquire(1);
        all.units.release(1);
      },
      [&] { all.latch.wait(); },
      [&] { all.barrier.arrive_and_wait(); },
      [&] { all.group.wait(); },
      [&] { sley::call_once(all.once, [&] { all.once_gate.receive(); }); },
      [&] { sley::call_once(all.once, [&] { all.once_gate.receive(); }); },
      [&] { EXPECT_EQ(all.future.get(), 5); },
      [&] { EXPECT_EQ(all.values.receive(), 6); },
      [&] { all.work.first.done().receive(); },
      [&] {
        all.errors.go([&] { all.work.first.done().receive(); });
        all.errors.wait();
      },
      [&] {
        sley::scope scope(all.work.first);
        scope.go([&] { scope.context().done().receive(); });
      },
      [&] { EXPECT_TRUE(all.timer.channel().receive()); },
      [&] { sley::this_goroutine::sleep_for(1ms); },
  };
  for (const auto& wait : waits) go(wait);
  return static_cast<int>(waits.size());
}

void meet_all(promises& all) {
  all.locks_gate.close();
  {
    const std::lock_guard guard(all.of_condition);
    all.is_met = true;
    all.condition.notify_all();
  }
  all.semaphore.release();
  all.units.release(2);
  all.latch.count_down();
  all.barrier.arrive_and_wait();
  all.group.done();
  all.once_gate.close();
  all.promise.set_value(5);
  all.values.send(6);
  all.work.second();
}

}  // namespace

// Locks are held from one run to the next by a goroutine that waits itself.
TEST(everywhere, a_wait_that_outlasts_its_run_ends_in_the_next_run) {
  for (int i = 0; i < 10; ++i) {
    promises all;
    std::atomic<int> ended{0};
    int waiters = 0;
    sley::run([&] {
      waiters = wait_for_all(all, [&](const std::function<void()>& wait) {
        sley::go([&, wait] {
          wait();
          ++ended;
        });
      });
      if (i % 2 == 0) sley_test::let_others_run();
    });
    sley::run([&] {
      meet_all(all);
      EXPECT_TRUE(eventually([&] { return ended == waiters; })) << ended << " of " << waiters;
      EXPECT_TRUE(eventually([] { return sley::runtime::num_goroutines() == 1; }));
    });
  }
}
