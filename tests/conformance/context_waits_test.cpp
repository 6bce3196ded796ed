// Aim: a context ends every wait of goroutines for each other, with its error, and nothing is lost
// or doubled by that. Method: each kind of wait with a context that has ended before, that ends
// meanwhile and that does not end; and a storm in which contexts end at random points while values,
// units and locks go over, whose accounts must balance. The simulation has the storm in every order
// and by its own clock: simulation/scenarios_context.cpp.
#include "support/harness.hpp"
#include "support/short_context.hpp"

#include <sley/context.hpp>
#include <sley/sync.hpp>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::context;
using sley::context_errc;
using sley_test::random_source;
using sley_test::rounds;
using sley_test::short_context;
using namespace std::chrono_literals;

namespace {

// Something to wait for, that `let` brings.
struct awaited {
  const char* name;
  std::function<void(const context&, std::error_code&)> begin;
  std::function<void(const context&)> begin_throwing;
  std::function<void()> let;
};

// What all kinds wait for. None of it is there at first.
struct world {
  sley::chan<int> empty, full = sley::chan<int>(1);
  sley::chan<void> signals;
  sley::mutex lock;
  sley::recursive_mutex recursive;
  sley::shared_mutex shared, read;
  sley::counting_semaphore<> units{0};
  sley::wait_group group;
  sley::latch latch{1};
  sley::promise<int> promise;
  sley::future<int> future = promise.get_future();
  sley::mutex guard;
  sley::condition_variable changed;
  sley::condition_variable_any changed_any;
  bool has_changed = false;
  bool is_held = true;
  sley::once_flag called;
  sley::chan<void> release;
  sley::wait_group holders;

  world() {
    full.send(1);
    lock.lock();
    shared.lock_shared();
    read.lock();
    group.add(1);
    sley::chan<void> held;
    holders.go([this, held] {
      recursive.lock();
      held.close();
      release.receive();
      recursive.unlock();
    });
    held.receive();
    sley::chan<void> calling;
    holders.go([this, calling] {
      sley::call_once(called, [this, calling] {
        calling.close();
        release.receive();
      });
    });
    calling.receive();
  }
  ~world() {
    if (!release.closed()) release.close();
    holders.wait();
    let_go();
  }

  // What the test's goroutine holds.
  void let_go() {
    if (!std::exchange(is_held, false)) return;
    lock.unlock();
    shared.unlock_shared();
    read.unlock();
    group.done();
  }

  void notify() {
    const std::lock_guard held(guard);
    has_changed = true;
    changed.notify_all();
    changed_any.notify_all();
  }

  std::vector<awaited> waits();
};

bool has_failed(const context&) { return false; }  // or it would have thrown
bool has_failed(const context&, const std::error_code& error) { return static_cast<bool>(error); }

template <class Begin>
awaited one(const char* name, Begin begin, std::function<void()> let) {
  return {name, [begin](const context& ctx, std::error_code& e) { begin(ctx, e); },
          [begin](const context& ctx) { begin(ctx); }, std::move(let)};
}

std::vector<awaited> world::waits() {
  return {
      one(
          "receive", [this](auto&... with) { empty.receive(with...); }, [this] { empty.send(1); }),
      one(
          "send", [this](auto&... with) { full.send(2, with...); }, [this] { full.receive(); }),
      one(
          "receive a signal", [this](auto&... with) { signals.receive(with...); },
          [this] { signals.send(); }),
      one(
          "lock",
          [this](auto&... with) {
            lock.lock(with...);
            if (!has_failed(with...)) lock.unlock();
          },
          [this] { let_go(); }),
      one(
          "lock recursively",
          [this](auto&... with) {
            recursive.lock(with...);
            if (!has_failed(with...)) recursive.unlock();
          },
          [this] { release.close(); }),
      one(
          "lock exclusively",
          [this](auto&... with) {
            shared.lock(with...);
            if (!has_failed(with...)) shared.unlock();
          },
          [this] { let_go(); }),
      one(
          "lock shared",
          [this](auto&... with) {
            read.lock_shared(with...);
            if (!has_failed(with...)) read.unlock_shared();
          },
          [this] { let_go(); }),
      one(
          "acquire", [this](auto&... with) { units.acquire(with...); },
          [this] { units.release(); }),
      one(
          "wait for a group", [this](auto&... with) { group.wait(with...); }, [this] { let_go(); }),
      one(
          "wait at a latch", [this](auto&... with) { latch.wait(with...); },
          [this] { latch.count_down(); }),
      one(
          "wait for a future", [this](auto&... with) { future.wait(with...); },
          [this] { promise.set_value(1); }),
      one(
          "wait for a call",
          [this](const context& ctx, auto&... with) {
            sley::call_once(called, ctx, [] { ADD_FAILURE() << "called again"; }, with...);
          },
          [this] { release.close(); }),
      one(
          "wait for a change",
          [this](const context& ctx, auto&... with) {
            std::unique_lock held(guard);
            changed.wait(held, ctx, [this] { return has_changed; }, with...);
            EXPECT_TRUE(held.owns_lock());
          },
          [this] { notify(); }),
      one(
          "wait for a notification",
          [this](auto&... with) {
            std::unique_lock held(guard);
            changed.wait(held, with...);
          },
          [this] { notify(); }),
      one(
          "wait for any change",
          [this](const context& ctx, auto&... with) {
            std::unique_lock held(guard);
            changed_any.wait(held, ctx, [this] { return has_changed; }, with...);
          },
          [this] { notify(); }),
  };
}

std::error_code error_thrown_by(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::system_error& e) {
    return e.code();
  }
  return {};
}

}  // namespace

GO_TEST(context_waits, end_with_the_error_of_the_context) {
  for (const bool by_deadline : {false, true}) {
    world w;
    for (const awaited& one : w.waits()) {
      std::error_code error, thrown;
      const auto [ctx, cancel] =
          by_deadline ? sley::with_timeout({}, 2ms) : sley::with_cancel(context());
      sley::wait_group group;
      group.go([&, c = ctx] { one.begin(c, error); });
      group.go([&, c = ctx] { thrown = error_thrown_by([&] { one.begin_throwing(c); }); });
      if (!by_deadline) {
        sley_test::let_others_run();
        cancel();
      }
      group.wait();
      const context_errc expected =
          by_deadline ? context_errc::deadline_exceeded : context_errc::canceled;
      EXPECT_EQ(error, expected) << one.name;
      EXPECT_EQ(thrown, expected) << one.name;
    }
  }
}

GO_TEST(context_waits, succeed_if_the_event_comes) {
  const std::size_t kinds = world().waits().size();
  for (std::size_t i = 0; i < kinds; ++i) {
    world w;
    const auto [ctx, cancel] = sley::with_timeout({}, 1h);
    const awaited one = w.waits()[i];
    std::error_code error;
    std::atomic<bool> has_ended = false;
    sley::wait_group group;
    group.go([&, c = ctx] {
      one.begin(c, error);
      has_ended = true;
    });
    sley_test::let_others_run();
    one.let();
    if (std::string(one.name) == "wait for a notification") {
      while (!has_ended) {  // it may not have waited yet
        w.notify();
        sley::this_goroutine::yield();
      }
    }
    group.wait();
    EXPECT_FALSE(error) << one.name << ": " << error.message();
    cancel();
  }
}

GO_TEST(context_waits, do_nothing_once_the_context_has_ended) {
  const auto [ctx, cancel] = sley::with_cancel(context());
  cancel();
  for (int i = 0; i < rounds(20); ++i) {
    sley::chan<int> values(2);
    values.send(1);
    std::error_code error;
    values.send(2, ctx, error);
    EXPECT_EQ(error, context_errc::canceled);
    EXPECT_EQ(values.receive(ctx, error), std::nullopt);
    EXPECT_EQ(error, context_errc::canceled);
    EXPECT_EQ(values.size(), 1U);
    sley::mutex lock;
    lock.lock(ctx, error);
    EXPECT_TRUE(error && lock.try_lock());
    lock.unlock();
    sley::shared_mutex shared;
    shared.lock_shared(ctx, error);
    EXPECT_TRUE(error);
    shared.lock(ctx, error);
    EXPECT_TRUE(error && shared.try_lock());
    shared.unlock();
    sley::binary_semaphore unit(1);
    unit.acquire(ctx, error);
    EXPECT_TRUE(error && unit.try_acquire());
    sley::wait_group().wait(ctx, error);
    EXPECT_TRUE(error);
    sley::latch(0).wait(ctx, error);
    EXPECT_TRUE(error);
    sley::once_flag flag;
    sley::call_once(flag, ctx, [] { ADD_FAILURE() << "called"; }, error);
    EXPECT_TRUE(error);
    sley::call_once(flag, [] {});
    sley::call_once(flag, ctx, [] { ADD_FAILURE() << "called"; }, error);
    EXPECT_TRUE(error);
    sley::condition_variable changed;
    std::unique_lock held(lock);
    changed.wait(held, ctx, []() -> bool { throw std::logic_error("asked"); }, error);
    EXPECT_TRUE(error && held.owns_lock());
    sley::rate_limiter limiter(0, 1);
    limiter.wait(ctx, 1, error);
    EXPECT_TRUE(error && limiter.allow());
    sley::this_goroutine::sleep_for(1h, ctx, error);
    EXPECT_EQ(error, context_errc::canceled);
    EXPECT_THROW(sley::this_goroutine::sleep_until(sley::time_point::max(), ctx),
                 std::system_error);
  }
}

GO_TEST(context_waits, a_value_that_was_not_sent_is_still_the_callers) {
  sley::chan<std::unique_ptr<int>> values;
  const auto [ctx, cancel] = sley::with_timeout({}, 1ms);
  auto value = std::make_unique<int>(7);
  std::error_code error;
  values.send(std::move(value), ctx, error);
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(*value, 7);
  EXPECT_THROW(values.send(std::move(value), ctx), std::system_error);
  ASSERT_NE(value, nullptr);

  sley::chan<std::string> texts(1);
  const std::string text(100, 't');
  texts.send(text, context());
  EXPECT_EQ(texts.receive(context()), text);
  texts.close();
  EXPECT_EQ(texts.receive(context()), std::nullopt);
  EXPECT_THROW(texts.send(text, context()), sley::channel_closed);
}

GO_TEST(context_waits, a_sleep_ends_by_the_context_or_by_its_time) {
  sley::this_goroutine::sleep_for(1ms, context());
  sley::this_goroutine::sleep_for(-1ms, context());
  const auto [ctx, cancel] = sley::with_cancel(context());
  std::error_code error;
  sley::wait_group group;
  group.go([&, c = ctx] { sley::this_goroutine::sleep_for(1h, c, error); });
  sley_test::let_others_run();
  cancel();
  group.wait();
  EXPECT_EQ(error, context_errc::canceled);
}

// The last done() against a wait that is given up: the group is gone as soon as all have returned.
GO_TEST(context_waits, a_group_may_go_after_a_wait_that_was_given_up) {
  for (int i = 0; i < rounds(2000); ++i) {
    const auto [ctx, cancel] = sley::with_cancel(context());
    auto group = std::make_unique<sley::wait_group>();
    group->add(1);
    sley::wait_group others;
    others.go([&] { cancel(); });
    others.go([g = group.get()] { g->done(); });
    std::error_code error;
    group->wait(ctx, error);
    group->wait();
    group.reset();
    others.wait();
  }
}

// ---- the storm ----

GO_TEST(context_waits, no_value_is_lost_or_doubled_in_a_storm) {
  constexpr int senders = 4, receivers = 4;
  const int count = rounds(400);
  for (const int capacity : {0, 1, 3}) {
    sley::chan<std::unique_ptr<int>> values(capacity);
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(senders * count));
    sley::wait_group sending, receiving;
    for (int s = 0; s < senders; ++s) {
      sending.go([&, s] {
        random_source random(static_cast<std::uint64_t>(s));
        for (int i = 0; i < count; ++i) {
          auto value = std::make_unique<int>(s * count + i);
          while (value != nullptr) {
            const short_context ctx(random);
            std::error_code error;
            values.send(std::move(value), ctx.get(), error);
            EXPECT_EQ(value != nullptr, static_cast<bool>(error));
          }
        }
      });
    }
    for (int r = 0; r < receivers; ++r) {
      receiving.go([&, r] {
        random_source random(static_cast<std::uint64_t>(100 + r));
        for (;;) {
          const short_context ctx(random);
          std::error_code error;
          const auto value = values.receive(ctx.get(), error);
          if (!value && !error) return;
          if (value) ++seen[static_cast<std::size_t>(**value)];
        }
      });
    }
    sending.wait();
    values.close();
    receiving.wait();
    for (const std::atomic<int>& times : seen) ASSERT_EQ(times, 1);
  }
}

GO_TEST(context_waits, no_lock_and_no_unit_is_lost_or_doubled_in_a_storm) {
  const int count = rounds(500);
  sley::mutex lock;
  sley::shared_mutex shared;
  sley::counting_semaphore<> units(2);
  int locked = 0;
  std::atomic<int> writers = 0, readers = 0, holders = 0;
  sley::wait_group group;
  for (std::uint64_t g = 0; g < 8; ++g) {
    group.go([&, g] {
      random_source random(g);
      std::error_code error;
      for (int i = 0; i < count; ++i) {
        const short_context ctx(random);
        lock.lock(ctx.get(), error);
        if (!error) {
          EXPECT_EQ(++locked, 1);
          if (random.one_in(3)) sley::this_goroutine::yield();
          --locked;
          lock.unlock();
        }
        units.acquire(ctx.get(), error);
        if (!error) {
          EXPECT_LE(++holders, 2);
          sley::this_goroutine::yield();
          --holders;
          units.release();
        }
        if (random.one_in(3)) {
          shared.lock(ctx.get(), error);
          if (error) continue;
          EXPECT_EQ(++writers, 1);
          EXPECT_EQ(readers, 0);
          sley::this_goroutine::yield();
          --writers;
          shared.unlock();
        } else {
          shared.lock_shared(ctx.get(), error);
          if (error) continue;
          ++readers;
          EXPECT_EQ(writers, 0);
          sley::this_goroutine::yield();
          --readers;
          shared.unlock_shared();
        }
      }
    });
  }
  group.wait();
  EXPECT_TRUE(lock.try_lock() && shared.try_lock());
  lock.unlock();
  shared.unlock();
  EXPECT_TRUE(units.try_acquire() && units.try_acquire() && !units.try_acquire());
}

GO_TEST(context_waits, no_notification_is_lost_in_a_storm) {
  const int count = rounds(500);
  sley::mutex lock;
  sley::condition_variable changed;
  int tokens = 0, taken = 0;
  bool is_over = false;
  sley::wait_group group, bringing;
  for (std::uint64_t g = 0; g < 6; ++g) {
    group.go([&, g] {
      random_source random(g);
      for (;;) {
        const short_context ctx(random);
        std::unique_lock held(lock);
        std::error_code error;
        changed.wait(held, ctx.get(), [&] { return tokens > 0 || is_over; }, error);
        // A waiter that was chosen and gives up nevertheless must not keep the token from others.
        if (tokens > 0) {
          --tokens;
          ++taken;
        } else if (is_over) {
          return;
        }
      }
    });
  }
  bringing.go([&] {
    for (int i = 0; i < count; ++i) {
      {
        const std::lock_guard held(lock);
        ++tokens;
      }
      changed.notify_one();
      if (i % 7 == 0) sley::this_goroutine::yield();
    }
  });
  bringing.wait();
  EXPECT_TRUE(sley_test::eventually([&] {
    const std::lock_guard held(lock);
    return taken == count;
  }));
  {
    const std::lock_guard held(lock);
    is_over = true;
  }
  changed.notify_all();
  group.wait();
  EXPECT_EQ(taken, count);
}

GO_TEST(context_waits, groups_latches_and_futures_in_a_storm) {
  random_source random;
  for (int i = 0; i < rounds(300); ++i) {
    sley::wait_group done;
    sley::latch latch(2);
    sley::promise<int> promise;
    const sley::shared_future<int> future = promise.get_future();
    sley::wait_group waiters;
    done.add(2);
    for (std::uint64_t g = 0; g < 4; ++g) {
      waiters.go([&, seed = random()] {
        random_source own(seed);
        const auto again = [&](auto wait) {
          std::error_code error;
          do {
            const short_context ctx(own);
            wait(ctx.get(), error);
          } while (error);
        };
        again([&](const context& ctx, std::error_code& e) { done.wait(ctx, e); });
        again([&](const context& ctx, std::error_code& e) { latch.wait(ctx, e); });
        again([&](const context& ctx, std::error_code& e) { future.wait(ctx, e); });
        EXPECT_TRUE(done.is_done() && latch.try_wait() && future.is_ready());
      });
    }
    for (int half = 0; half < 2; ++half) {
      sley::this_goroutine::yield();
      done.done();
      latch.count_down();
    }
    promise.set_value(1);
    waiters.wait();
  }
}
