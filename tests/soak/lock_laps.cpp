// Locks, semaphores and the rest of <sley/sync.hpp>: the protected counts are exact, and each
// waiter is woken.
#include "soak/soak.hpp"
#include "support/thread_group.hpp"

#include <sley/sync.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <vector>

using sley::wait_group;
using sley_test::random_source;
using sley_test::rounds;
using soak::count;
using soak::tally;
using namespace std::chrono_literals;

namespace {

// Calls step `times` times in each of at most `most` goroutines, each with chance of its own.
template <class Step>
void in_goroutines(random_source& random, int most, int times, Step step) {
  wait_group group;
  const int number = 1 + random.index(static_cast<std::size_t>(most));
  for (int i = 0; i < number; ++i) {
    group.go([times, step, own = random_source(random())]() mutable {
      for (int t = 0; t < times; ++t) step(own);
    });
  }
  group.wait();
}

// Sometimes something happens while a lock is held.
void linger(random_source& random) {
  switch (random.below(100)) {
    case 0: sley::this_goroutine::yield(); break;
    case 1: sley::this_goroutine::sleep_for(random.below(100) * 1us); break;
    default: break;
  }
}

// --- exclusive -----------------------------------------------------------------------------------

// Not atomic on purpose.
struct protected_count {
  std::uint64_t in_here = 0;
  void enter(random_source& random) {
    const std::uint64_t before = in_here;
    linger(random);
    in_here = before + 1;
  }
};

template <class Mutex>
void count_under(random_source& random) {
  Mutex mutex;
  protected_count counted;
  std::atomic<std::uint64_t> taken{0};
  const auto step = [&](random_source& own) {
    switch (own.below(8)) {
      case 0:
        if (!mutex.try_lock()) return;
        break;
      case 1:
        if constexpr (requires { mutex.try_lock_for(1us); }) {
          if (!mutex.try_lock_for(own.below(200) * 1us)) return;
          break;
        }
        [[fallthrough]];
      default: mutex.lock();
    }
    const std::lock_guard guard(mutex, std::adopt_lock);
    counted.enter(own);
    ++taken;
  };
  sley_test::thread_group threads;
  const int times = rounds(300);
  if (random.one_in(4)) {
    count(tally::foreign_threads);
    threads.go([=, stream = random()] {
      random_source own(stream);
      for (int t = 0; t < times; ++t) step(own);
    });
  }
  in_goroutines(random, 30, times, step);
  threads.wait();
  EXPECT_EQ(counted.in_here, taken);
  count(tally::locks_taken, taken);
}

// --- shared --------------------------------------------------------------------------------------

void read_and_write(random_source& random) {
  sley::shared_mutex mutex;
  std::uint64_t first = 0, second = 0;  // [lock: mutex], equal while no goroutine writes
  std::atomic<std::uint64_t> writes{0}, reads{0};
  in_goroutines(random, 30, rounds(300), [&](random_source& own) {
    const auto limit = own.below(200) * 1us;
    if (own.one_in(10)) {
      std::unique_lock guard(mutex, std::defer_lock);
      if (own.one_in(3) ? !guard.try_lock_for(limit) : (guard.lock(), false)) return;
      ++first;
      linger(own);
      ++second;
      ++writes;
    } else {
      std::shared_lock guard(mutex, std::defer_lock);
      if (own.one_in(3) ? !guard.try_lock_for(limit) : (guard.lock(), false)) return;
      const std::uint64_t seen = first;
      linger(own);
      EXPECT_EQ(seen, second);
      ++reads;
    }
  });
  EXPECT_EQ(first, writes);
  EXPECT_EQ(second, writes);
  count(tally::locks_taken, reads + writes);
}

// --- a few at a time -----------------------------------------------------------------------------

void pass_semaphores(random_source& random) {
  const auto permits = static_cast<std::ptrdiff_t>(1 + random.below(8));
  sley::counting_semaphore<> plain(permits);
  sley::weighted_semaphore weighted(permits);
  std::atomic<std::int64_t> inside{0}, weight{0};
  std::atomic<std::uint64_t> passed{0};
  in_goroutines(random, 30, rounds(200), [&](random_source& own) {
    const auto limit = own.below(200) * 1us;
    if (own.one_in(2)) {
      if (own.one_in(3) ? !plain.try_acquire_for(limit) : (plain.acquire(), false)) return;
      EXPECT_LE(++inside, permits);
      linger(own);
      --inside;
      plain.release();
    } else {
      const auto k = static_cast<std::int64_t>(1 + own.below(static_cast<std::uint64_t>(permits)));
      if (own.one_in(3) ? !weighted.try_acquire_for(k, limit) : (weighted.acquire(k), false)) {
        return;
      }
      EXPECT_LE(weight += k, permits);
      linger(own);
      weight -= k;
      weighted.release(k);
    }
    ++passed;
  });
  EXPECT_TRUE(weighted.try_acquire(permits)) << "permits are lost";
  for (std::ptrdiff_t i = 0; i < permits; ++i) EXPECT_TRUE(plain.try_acquire());
  EXPECT_FALSE(plain.try_acquire());
  count(tally::waits, passed);
}

// --- a queue with condition variables ------------------------------------------------------------

class bounded_queue {
 public:
  explicit bounded_queue(std::size_t room) : room_(room) {}

  void push(std::uint64_t v) {
    std::unique_lock lock(mutex_);
    not_full_.wait(lock, [this] { return all_.size() < room_; });
    all_.push_back(v);
    not_empty_.notify_one();
  }
  std::uint64_t pop(random_source& random) {
    std::unique_lock lock(mutex_);
    const auto has_some = [this] { return !all_.empty(); };
    if (random.one_in(2)) {
      while (!not_empty_.wait_for(lock, random.below(200) * 1us, has_some)) {
      }
    } else {
      not_empty_.wait(lock, has_some);
    }
    const std::uint64_t v = all_.front();
    all_.pop_front();
    not_full_.notify_one();
    return v;
  }
  bool is_empty() const { return all_.empty(); }

 private:
  const std::size_t room_;
  sley::mutex mutex_;
  sley::condition_variable not_full_, not_empty_;
  std::deque<std::uint64_t> all_;  // [lock: mutex_]
};

void queue_with_conditions(random_source& random) {
  bounded_queue queue(1 + random.below(10));
  const auto pairs = 1 + random.below(10);
  const auto values = static_cast<std::uint64_t>(rounds(200));
  std::atomic<std::uint64_t> sum{0};
  wait_group group;
  for (std::uint64_t i = 0; i < pairs; ++i) {
    group.go([&] {
      for (std::uint64_t v = 1; v <= values; ++v) queue.push(v);
    });
    group.go([&, own = random_source(random())]() mutable {
      for (std::uint64_t v = 1; v <= values; ++v) sum += queue.pop(own);
    });
  }
  group.wait();
  EXPECT_EQ(sum, pairs * values * (values + 1) / 2);
  EXPECT_TRUE(queue.is_empty());
  count(tally::waits, 2 * pairs * values);
}

// --- all together, once, and never two forks -----------------------------------------------------

void meet_at_barriers(random_source& random) {
  const int members = 1 + random.index(20);
  const std::uint64_t phases = static_cast<std::uint64_t>(rounds(50));
  std::atomic<std::uint64_t> completions{0}, arrivals{0};
  const auto complete = [&]() noexcept { ++completions; };
  sley::barrier barrier(members, complete);
  sley::latch start(1), end(members);
  sley::once_flag once;
  std::atomic<int> first{0};
  wait_group group;
  for (int i = 0; i < members; ++i) {
    group.go([&, own = random_source(random())]() mutable {
      start.wait();
      sley::call_once(once, [&] {
        linger(own);
        ++first;
      });
      EXPECT_EQ(first, 1);
      for (std::uint64_t p = 0; p < phases; ++p) {
        ++arrivals;
        linger(own);
        barrier.arrive_and_wait();
        EXPECT_GE(completions, p + 1);
        EXPECT_GE(arrivals, (p + 1) * static_cast<std::uint64_t>(members));
      }
      end.count_down();
    });
  }
  start.count_down();
  end.wait();
  group.wait();
  EXPECT_EQ(completions, phases);
  EXPECT_EQ(arrivals, phases * static_cast<std::uint64_t>(members));
  count(tally::waits, arrivals);
}

void dine(random_source& random) {
  const auto seats = 2 + random.below(20);
  const int meals = rounds(100);
  std::vector<sley::mutex> forks(seats);
  std::vector<int> uses(seats, 0);  // [lock: forks]
  wait_group group;
  for (std::uint64_t i = 0; i < seats; ++i) {
    group.go([&, i, own = random_source(random())]() mutable {
      const auto right = (i + 1) % seats;
      for (int m = 0; m < meals; ++m) {
        const std::scoped_lock both(forks[i], forks[right]);
        ++uses[i];
        linger(own);
        ++uses[right];
      }
    });
  }
  group.wait();
  for (const int n : uses) EXPECT_EQ(n, 2 * meals);
  count(tally::locks_taken, 2 * seats * static_cast<std::uint64_t>(meals));
}

}  // namespace

SOAK_LAP(lock_mutex) { count_under<sley::mutex>(random); }
SOAK_LAP(lock_recursive) { count_under<sley::recursive_mutex>(random); }
SOAK_LAP(lock_shared) { read_and_write(random); }
SOAK_LAP(lock_semaphores) { pass_semaphores(random); }
SOAK_LAP(lock_conditions) { queue_with_conditions(random); }
SOAK_LAP(lock_barriers) { meet_at_barriers(random); }
SOAK_LAP(lock_philosophers) { dine(random); }
