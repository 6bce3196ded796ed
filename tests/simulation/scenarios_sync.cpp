// Locks and their kin, futures and contexts.
#include "scenarios.hpp"

#include <sley/sley.hpp>
#include <sley/testing.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <stdexcept>
#include <vector>

namespace sley_test {

namespace {

using namespace std::chrono_literals;
using sley::testing::check;
using sley::testing::point;

void one_at_a_time() {
  sley::mutex m;
  int inside = 0;
  int count = 0;
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([&] {
      for (int n = 0; n < 5; ++n) {
        const std::lock_guard held(m);
        check(++inside == 1, "one at a time");
        point();
        --inside;
        ++count;
      }
    });
  }
  all.wait();
  check(count == 20, "every goroutine gets in");
}

void locks_with_deadlines() {
  sley::timed_mutex m;
  int inside = 0;
  int tries = 0;
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([&] {
      for (int n = 0; n < 4; ++n) {
        if (!m.try_lock_for(std::chrono::microseconds(n))) continue;
        check(++inside == 1, "one at a time");
        ++tries;
        point();
        --inside;
        m.unlock();
      }
    });
  }
  all.wait();
  check(m.try_lock(), "it is free in the end");
  m.unlock();
}

// A lock that is held for longer than a millisecond makes its waiters starve.
void starvation_is_ended() {
  sley::mutex m;
  sley::wait_group all;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      for (int n = 0; n < 3; ++n) {
        const std::lock_guard held(m);
        sley::this_goroutine::sleep_for(2ms);
      }
    });
  }
  all.wait();
}

void readers_and_writers() {
  sley::shared_mutex m;
  int readers = 0;
  int writers = 0;
  sley::mutex counts;
  const auto change = [&](int r, int w) {
    const std::lock_guard held(counts);
    readers += r;
    writers += w;
    check(writers == 0 || (writers == 1 && readers == 0), "a writer is alone");
  };
  sley::wait_group all;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      for (int n = 0; n < 4; ++n) {
        const std::shared_lock held(m);
        change(1, 0);
        point();
        change(-1, 0);
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      for (int n = 0; n < 3; ++n) {
        const std::lock_guard held(m);
        change(0, 1);
        point();
        change(0, -1);
      }
    });
  }
  all.wait();
}

void a_bounded_queue() {
  sley::mutex m;
  sley::condition_variable changed;
  int items = 0;
  int taken = 0;
  sley::wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.go([&] {
      for (int n = 0; n < 5; ++n) {
        std::unique_lock held(m);
        changed.wait(held, [&] { return items < 2; });
        ++items;
        changed.notify_all();
      }
    });
    all.go([&] {
      for (int n = 0; n < 5; ++n) {
        std::unique_lock held(m);
        changed.wait(held, [&] { return items > 0; });
        --items;
        ++taken;
        changed.notify_all();
      }
    });
  }
  all.wait();
  check(items == 0 && taken == 10, "what is put in comes out");
}

void waits_that_time_out() {
  sley::mutex m;
  sley::condition_variable changed;
  bool is_ready = false;
  sley::wait_group all;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      std::unique_lock held(m);
      const bool was_ready = changed.wait_for(held, 10us, [&] { return is_ready; });
      check(was_ready == is_ready, "it says what is");
    });
  }
  all.go([&] {
    const std::lock_guard held(m);
    is_ready = true;
    changed.notify_one();
  });
  all.wait();
}

void permits() {
  sley::counting_semaphore<4> s(2);
  sley::testing::atomic<int> inside = 0;
  sley::wait_group all;
  for (int i = 0; i < 5; ++i) {
    all.go([&, i] {
      if (i == 0 && !s.try_acquire_for(1us)) return;
      if (i != 0) s.acquire();
      check(++inside <= 2, "two at a time");
      --inside;
      s.release();
    });
  }
  all.wait();
  check(s.try_acquire() && s.try_acquire() && !s.try_acquire(), "all permits are back");
}

void a_barrier_again_and_again() {
  constexpr int n = 3;
  int phase = 0;
  sley::barrier together(n, [&]() noexcept { ++phase; });
  sley::wait_group all;
  for (int i = 0; i < n; ++i) {
    all.go([&] {
      for (int round = 1; round <= 4; ++round) {
        together.arrive_and_wait();
        check(phase >= round, "no goroutine goes on before the others have come");
      }
    });
  }
  all.wait();
  check(phase == 4, "each phase ends once");
}

void once_with_a_failure() {
  sley::once_flag once;
  std::atomic<int> tries = 0;
  int done = 0;
  sley::wait_group all;
  for (int i = 0; i < 4; ++i) {
    all.go([&] {
      try {
        sley::call_once(once, [&] {
          if (++tries == 1) throw std::runtime_error("the first one fails");
          ++done;
        });
        check(done == 1, "a caller that comes back sees it done");
      } catch (const std::runtime_error&) {
        check(tries >= 1, "the caller gets the exception");
      }
    });
  }
  all.wait();
  check(done == 1, "it is done once");
}

void futures() {
  sley::promise<int> p;
  const sley::shared_future<int> f = p.get_future().share();
  int sum = 0;
  sley::mutex m;
  sley::wait_group all;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      const int v = f.get();
      const std::lock_guard held(m);
      sum += v;
    });
  }
  all.go([&] { p.set_value(5); });
  all.wait();
  check(sum == 15, "every waiter gets the value");
}

// Children are added while their parent is canceled.
void contexts_canceled_while_they_grow() {
  auto [root, cancel] = sley::with_cancel(sley::context::background());
  sley::wait_group all;
  const sley::context& parent = root;
  for (int i = 0; i < 3; ++i) {
    all.go([&] {
      auto [child, cancel_child] = sley::with_cancel(parent);
      auto [grandchild, cancel_grandchild] = sley::with_timeout(child, 1h);
      grandchild.done().receive();
      check(grandchild.error() == sley::context_errc::canceled, "it says why");
    });
  }
  const sley::cancel_function& stop = cancel;
  all.go([&] { stop(); });
  all.go([&] { stop(); });
  all.wait();
}

void contexts_that_expire() {
  auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 1ms);
  int ran = 0;
  sley::chan<void> has_run(1);
  const auto f = sley::after_func(ctx, [&, has_run] {
    ++ran;
    has_run.send();
  });
  ctx.done().receive();
  check(ctx.error() == sley::context_errc::deadline_exceeded, "it says why");
  has_run.receive();
  check(ran == 1, "the function runs once");
}

// A wait of each kind, which a context ends or an event, whichever comes first. There is no timer
// but the context's, so a wait that the end misses never returns, which the simulation reports. How
// late one returns tells nothing: the clock jumps to the next sleeper's time after a thousand
// points.
void contexts_end_waits() {
  const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 1ms);
  sley::mutex lock;
  sley::shared_mutex shared;
  sley::counting_semaphore<> units(0);
  sley::condition_variable changed;
  sley::wait_group group, waiters;
  sley::chan<int> values;
  group.add(1);
  const auto wait = [&, &c = ctx](auto f) {
    waiters.go([&, f] {
      std::error_code error;
      f(c, error);
      check(!error || error == sley::context_errc::deadline_exceeded, "it says why");
    });
  };
  int sent = 0, received = 0, acquired = 0;
  wait([&](const sley::context& c, std::error_code& e) {
    values.send(1, c, e);
    if (!e) ++sent;
  });
  wait([&](const sley::context& c, std::error_code& e) {
    if (values.receive(c, e)) ++received;
  });
  for (int i = 0; i < 2; ++i) {
    wait([&](const sley::context& c, std::error_code& e) {
      lock.lock(c, e);
      if (e) return;
      sley::this_goroutine::yield();
      lock.unlock();
    });
    wait([&, i](const sley::context& c, std::error_code& e) {
      i == 0 ? shared.lock(c, e) : shared.lock_shared(c, e);
      if (e) return;
      sley::this_goroutine::yield();
      i == 0 ? shared.unlock() : shared.unlock_shared();
    });
  }
  wait([&](const sley::context& c, std::error_code& e) {
    units.acquire(c, e);
    if (!e) ++acquired;
  });
  wait([&](const sley::context& c, std::error_code& e) {
    std::unique_lock held(lock);
    changed.wait(held, c, [] { return false; }, e);
    check(held.owns_lock(), "the lock is held again");
  });
  wait([&](const sley::context& c, std::error_code& e) { group.wait(c, e); });
  wait([](const sley::context& c, std::error_code& e) {
    sley::this_goroutine::sleep_for(sley::time_span::max(), c, e);
  });
  wait([&](const sley::context&, std::error_code&) {
    changed.notify_one();
    units.release();
    group.done();
  });
  waiters.wait();
  check(sent == received, "no value is lost or doubled");
  check(acquired == (units.try_acquire() ? 0 : 1), "no unit is lost or doubled");
  check(lock.try_lock() && shared.try_lock(), "no lock is left behind");
  lock.unlock();
  shared.unlock();
}

// An object whose memory is watched after its end.
template <class T>
class mortal {
 public:
  template <class... Args>
  explicit mortal(Args... args) : object_(new(memory_) T(args...)) {}
  T* operator->() noexcept { return object_; }
  void destroy() noexcept {
    object_->~T();
    reuse();
  }
  // Without the destructor, which waits for others in builds with debug checks.
  void reuse() noexcept { std::memset(memory_, 0x5a, sizeof memory_); }
  bool is_untouched() const noexcept {
    return std::all_of(std::begin(memory_), std::end(memory_),
                       [](unsigned char byte) { return byte == 0x5a; });
  }

 private:
  alignas(T) unsigned char memory_[sizeof(T)];
  T* object_;
};

// The last user of a lock may destroy it, though the one before has not returned from its unlock.
void a_reader_destroys_a_lock() {
  mortal<sley::shared_mutex> lock;
  bool is_last = false;
  sley::wait_group all;
  all.go([&] {
    lock->lock();
    is_last = true;
    lock->unlock();
  });
  all.go([&] {
    for (bool ends = false; !ends;) {
      lock->lock_shared();
      ends = is_last;
      lock->unlock_shared();
      if (!ends) sley::this_goroutine::yield();
    }
    lock.destroy();
  });
  all.wait();
  check(lock.is_untouched(), "unlock() does not touch a lock that is gone");
}

// A waiter that has given up has left a mark, which release() takes away.
void a_taker_destroys_a_semaphore() {
  mortal<sley::counting_semaphore<>> semaphore(0);
  std::atomic<bool> gave_up = false;
  sley::wait_group all;
  all.go([&] {
    if (semaphore->try_acquire_for(1us)) semaphore->release();
    gave_up = true;
  });
  all.go([&] {
    while (!gave_up) sley::this_goroutine::yield();
    semaphore->release();
  });
  all.go([&] {
    while (!gave_up) sley::this_goroutine::yield();
    semaphore->acquire();
    semaphore.reuse();
  });
  all.wait();
  check(semaphore.is_untouched(), "release() does not touch a semaphore that is gone");
}

constexpr scenario scenarios[] = {
    {"one_at_a_time", one_at_a_time},
    {"locks_with_deadlines", locks_with_deadlines},
    {"starvation_is_ended", starvation_is_ended},
    {"readers_and_writers", readers_and_writers},
    {"a_bounded_queue", a_bounded_queue},
    {"waits_that_time_out", waits_that_time_out},
    {"permits", permits},
    {"a_barrier_again_and_again", a_barrier_again_and_again},
    {"once_with_a_failure", once_with_a_failure},
    {"futures", futures},
    {"contexts_canceled_while_they_grow", contexts_canceled_while_they_grow},
    {"contexts_that_expire", contexts_that_expire},
    {"contexts_end_waits", contexts_end_waits},
    {"a_reader_destroys_a_lock", a_reader_destroys_a_lock},
    {"a_taker_destroys_a_semaphore", a_taker_destroys_a_semaphore},
};

}  // namespace

std::span<const scenario> sync_scenarios() { return scenarios; }

}  // namespace sley_test
