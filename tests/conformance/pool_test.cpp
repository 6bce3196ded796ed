// sley::pool: how many objects there are, which caller gets one, what ends a wait, and when an
// object goes. The objects count themselves, from the call of make to the end of their destructor.
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <sley/pool.hpp>
#include <sley/sync.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::context;
using sley::context_errc;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::in;
using sley_test::random_source;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

// What the objects of a pool know together.
struct census {
  std::atomic<int> alive{0};
  std::atomic<int> most{0};
  std::atomic<int> made{0};

  void enter() {
    const int now = ++alive;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
  }
};

// Can't be moved: a pool makes it where it stays.
struct wire {
  explicit wire(census& c) : of(c) {
    of.enter();
    sley::this_goroutine::yield();  // making takes time
    number = of.made++;
  }
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;
  ~wire() {
    sley::this_goroutine::yield();
    --of.alive;
  }
  census& of;
  int number = 0;
  bool is_good = true;
};

using wire_pool = sley::pool<wire>;
using wire_options = sley::pool_options<wire>;

wire_options wires(census& c, std::size_t max) {
  return {.make = [&c](const context&) { return wire(c); }, .max = max};
}

// Callers that wait in line for an object, in the order of their numbers.
class line {
 public:
  line(wire_pool& pool, int count) {
    for (int i = 0; i < count; ++i) {
      go_until_parked([this, &pool, i] {
        std::error_code error;
        {
          const auto h = pool.acquire(ctx_, error);
          EXPECT_EQ(static_cast<bool>(h), !error);
          ends_.send({i, h ? h->number : -1, error});
          if (h) release_.receive();
        }
        left_.send();
      });
    }
  }
  struct end {
    int caller;
    int object;
    std::error_code error;
  };
  end next() { return *ends_.receive(); }
  void let_one_go() {
    release_.send();
    left_.receive();
  }
  void end_context() { cancel_(); }
  void wait_for(int count) {
    for (int i = 0; i < count; ++i) left_.receive();
  }

 private:
  std::pair<context, sley::cancel_function> made_ = sley::with_cancel(context::background());
  const context& ctx_ = made_.first;
  const sley::cancel_function& cancel_ = made_.second;
  const sley::chan<end> ends_{100};
  const sley::chan<void> release_;
  const sley::chan<void> left_;
};

const context& endless = context::background();

}  // namespace

// ---- how many, and which ----

GO_TEST(pool, keeps_an_object_that_is_given_back) {
  census c;
  {
    wire_pool pool(wires(c, 3));
    EXPECT_EQ(pool.idle(), 0U);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pool.acquire()->number, 0);
    EXPECT_EQ(pool.idle(), 1U);
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    EXPECT_EQ(a->number, 0);
    EXPECT_EQ(b->number, 1);
    EXPECT_EQ(pool.in_use(), 2U);
    EXPECT_EQ(pool.idle(), 0U);
    EXPECT_EQ(a.get(), &*a);
  }
  EXPECT_EQ(c.alive, 0) << "an object is left";
}

GO_TEST(pool, the_object_given_back_last_is_handed_out_first) {
  census c;
  wire_pool pool(wires(c, 3));
  auto a = pool.acquire();
  auto b = pool.acquire();
  auto d = pool.acquire();
  for (auto* h : {&b, &d, &a}) h->give_back();
  for (auto* h : {&a, &d, &b}) *h = pool.acquire();
  EXPECT_EQ(a->number, 0);
  EXPECT_EQ(d->number, 2);
  EXPECT_EQ(b->number, 1);
}

GO_TEST(pool, there_are_never_more_objects_than_max) {
  for (const int max : {1, 3, 7}) {
    census c;
    {
      wire_options options = wires(c, static_cast<std::size_t>(max));
      options.idle_time = 20us;
      wire_pool pool(std::move(options));
      sley::wait_group users;
      for (int i = 0; i < 20; ++i) {
        users.go([&, i] {
          random_source random(static_cast<std::uint64_t>(i));
          for (int round = 0; round < rounds(200); ++round) {
            auto h = pool.acquire();
            sley::this_goroutine::yield();
            if (random.one_in(3)) h.discard();
          }
        });
      }
      users.wait();
      EXPECT_EQ(pool.in_use(), 0U);
    }
    EXPECT_LE(c.most, max);
    EXPECT_EQ(c.alive, 0);
  }
}

GO_TEST(pool, callers_wait_in_order) {
  census c;
  wire_pool pool(wires(c, 1));
  auto held = pool.acquire();
  line waiting(pool, 5);
  held.give_back();
  for (int i = 0; i < 5; ++i) {
    const auto got = waiting.next();
    EXPECT_EQ(got.caller, i);
    EXPECT_EQ(got.object, 0);
    waiting.let_one_go();
  }
  EXPECT_EQ(c.made, 1);
}

GO_TEST(pool, a_handle_is_moved_with_its_object) {
  census c;
  wire_pool pool(wires(c, 2));
  auto a = pool.acquire();
  auto b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(a.get(), nullptr);
  EXPECT_EQ(b->number, 0);
  EXPECT_EQ(pool.in_use(), 1U);
  auto other = pool.acquire();
  other = std::move(b);
  EXPECT_EQ(pool.in_use(), 1U) << "what it held before was not given back";
  other.give_back();
  other.give_back();
  other.discard();
  EXPECT_EQ(pool.in_use(), 0U);
  EXPECT_EQ(pool.idle(), 2U);
  wire_pool::handle().give_back();
}

// ---- what fails ----

GO_TEST(pool, discard_makes_room_for_another) {
  census c;
  wire_pool pool(wires(c, 1));
  auto h = pool.acquire();
  h.discard();
  EXPECT_FALSE(h);
  EXPECT_EQ(c.alive, 0);
  h = pool.acquire();
  EXPECT_EQ(h->number, 1);
  line waiting(pool, 1);
  h.discard();
  EXPECT_EQ(waiting.next().object, 2);
  waiting.let_one_go();
}

GO_TEST(pool, an_exception_of_make_gives_the_place_back) {
  census c;
  int failures = 0;
  wire_options options = wires(c, 1);
  options.make = [&](const context&) {
    if (failures-- > 0) throw std::runtime_error("no wire");
    return wire(c);
  };
  wire_pool pool(std::move(options));
  failures = 2;
  std::error_code error;
  EXPECT_THROW(pool.acquire(), std::runtime_error);
  EXPECT_THROW(pool.acquire(endless, error), std::runtime_error);
  EXPECT_EQ(pool.in_use(), 0U);
  auto h = pool.acquire();

  // The first in line fails, and the second has its turn.
  failures = 1;
  sley::chan<std::string> failed(1);
  go_until_parked([&] {
    try {
      pool.acquire();
    } catch (const std::runtime_error& e) {
      failed.send(e.what());
    }
  });
  line waiting(pool, 1);
  h.discard();
  EXPECT_EQ(failed.receive(), "no wire");
  EXPECT_EQ(waiting.next().object, 1);
  waiting.let_one_go();
}

GO_TEST(pool, exit_in_make_gives_the_place_back) {
  census c;
  bool exits = true;
  wire_options options = wires(c, 1);
  options.make = [&](const context&) {
    if (std::exchange(exits, false)) sley::this_goroutine::exit();
    return wire(c);
  };
  wire_pool pool(std::move(options));
  sley::wait_group ended;
  ended.go([&] { pool.acquire(); });
  ended.wait();
  EXPECT_EQ(pool.acquire()->number, 0);
}

GO_TEST(pool, make_gets_the_context_of_its_caller) {
  sley::pool<int> pool({.make = [](const context& ctx) { return *ctx.value<int>("number"); }});
  const auto one = pool.acquire(sley::with_value(endless, "number", 1));
  const auto two = pool.acquire(sley::with_value(endless, "number", 2));
  EXPECT_EQ(*one, 1);
  EXPECT_EQ(*two, 2);
}

GO_TEST(pool, objects_that_fail_the_check_are_replaced) {
  census c;
  wire_options options = wires(c, 3);
  options.check = [](wire& l) { return l.is_good; };
  wire_pool pool(std::move(options));
  std::vector<wire_pool::handle> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(pool.acquire());
    held.back()->is_good = i == 0;
  }
  for (auto& h : held) h.give_back();
  EXPECT_EQ(pool.acquire()->number, 0) << "the two on top of it are bad";
  EXPECT_EQ(c.alive, 1);
  pool.acquire()->is_good = false;
  EXPECT_EQ(pool.acquire()->number, 3);
}

GO_TEST(pool, an_exception_of_the_check_gives_the_place_back) {
  census c;
  bool fails = true;
  wire_options options = wires(c, 1);
  options.check = [&](wire&) {
    if (fails) throw std::runtime_error("no answer");
    return true;
  };
  wire_pool pool(std::move(options));
  pool.acquire();
  EXPECT_THROW(pool.acquire(), std::runtime_error);
  EXPECT_EQ(c.alive, 0);
  fails = false;
  EXPECT_EQ(pool.acquire()->number, 1);
}

GO_TEST(pool, bad_options_are_refused) {
  EXPECT_THROW(sley::pool<int>({}), std::invalid_argument);
  EXPECT_THROW(sley::pool<int>({.make = [](const context&) { return 1; }, .max = 0}),
               std::invalid_argument);
}

// ---- what ends a wait ----

GO_TEST(pool, a_context_ends_the_wait) {
  census c;
  wire_pool pool(wires(c, 1));
  auto held = pool.acquire();
  line waiting(pool, 3);
  waiting.end_context();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(waiting.next().error, context_errc::canceled);
  waiting.wait_for(3);

  const auto [ctx, cancel] = sley::with_timeout(endless, 1ms);
  std::error_code error;
  EXPECT_FALSE(pool.acquire(ctx, error));
  EXPECT_EQ(error, context_errc::deadline_exceeded);
  try {
    pool.acquire(ctx);
    ADD_FAILURE() << "the context has ended";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), context_errc::deadline_exceeded);
    EXPECT_EQ(std::string(e.what()).find("sley::pool: acquire"), 0U) << e.what();
  }
  held.give_back();
  EXPECT_FALSE(pool.acquire(ctx, error)) << "it has ended before";
  EXPECT_EQ(pool.acquire(endless, error)->number, 0) << "no place was lost";
  EXPECT_FALSE(error);
}

GO_TEST(pool, close_wakes_every_caller) {
  census c;
  wire_pool pool(wires(c, 2));
  auto held = pool.acquire();
  auto other = pool.acquire();
  other.give_back();
  other = pool.acquire();
  line waiting(pool, 4);
  pool.close();
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(waiting.next().error, std::make_error_code(std::errc::operation_canceled));
  }
  waiting.wait_for(4);
  std::error_code error;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(pool.acquire(endless, error));
    EXPECT_EQ(error, std::make_error_code(std::errc::operation_canceled));
  }
  EXPECT_THROW(pool.acquire(), std::system_error);
  pool.close();
  EXPECT_EQ(held->number, 0) << "an object in use stays";
  held.give_back();
  other.discard();
  EXPECT_EQ(c.alive, 0) << "a closed pool keeps nothing";
  EXPECT_EQ(pool.idle(), 0U);
  EXPECT_EQ(pool.in_use(), 0U);
}

GO_TEST(pool, handles_may_outlive_it) {
  census c;
  auto pool = std::make_optional<wire_pool>(wires(c, 3));
  auto a = pool->acquire();
  auto b = pool->acquire();
  pool->acquire().give_back();
  pool.reset();
  EXPECT_EQ(c.alive, 2);
  a.give_back();
  b.discard();
  EXPECT_EQ(c.alive, 0);
}

// ---- idle objects ----

GO_TEST(pool, no_more_than_max_idle_are_kept) {
  for (const std::size_t most : {0U, 1U, 2U}) {
    census c;
    wire_options options = wires(c, 4);
    options.max_idle = most;
    wire_pool pool(std::move(options));
    std::vector<wire_pool::handle> held;
    for (int i = 0; i < 4; ++i) held.push_back(pool.acquire());
    held.clear();
    EXPECT_EQ(pool.idle(), most);
    EXPECT_EQ(c.alive, static_cast<int>(most));
  }
}

GO_TEST(pool, an_object_that_is_not_used_for_long_is_destroyed) {
  census c;
  wire_options options = wires(c, 5);
  options.idle_time = 5ms;
  wire_pool pool(std::move(options));
  for (int round = 0; round < 3; ++round) {
    std::vector<wire_pool::handle> held;
    for (int i = 0; i < 5; ++i) held.push_back(pool.acquire());
    held.clear();
    EXPECT_TRUE(eventually([&] { return c.alive == 0; }));
    EXPECT_EQ(pool.idle(), 0U);
    EXPECT_EQ(c.made, 5 * (round + 1));
  }
}

// The surplus goes while one of them is used all the time.
GO_TEST(pool, a_busy_object_stays_and_the_surplus_goes) {
  census c;
  wire_options options = wires(c, 5);
  options.idle_time = sley_test::under_sanitizer ? 200ms : 50ms;
  wire_pool pool(std::move(options));
  {
    std::vector<wire_pool::handle> held;
    for (int i = 0; i < 5; ++i) held.push_back(pool.acquire());
  }
  EXPECT_TRUE(eventually([&] {
    pool.acquire();
    return c.alive == 1;
  }));
}

GO_TEST(pool, an_object_is_never_handed_out_after_its_time) {
  census c;
  wire_options options = wires(c, 1);
  options.idle_time = -1ns;
  wire_pool pool(std::move(options));
  for (int i = 0; i < rounds(100); ++i) EXPECT_EQ(pool.acquire()->number, i);
}

GO_TEST(pool, zero_and_the_largest_time_keep_objects) {
  for (const sley::time_span d : {sley::time_span(0ns), sley::time_span(sley::time_span::max())}) {
    census c;
    wire_options options = wires(c, 1);
    options.idle_time = d;
    wire_pool pool(std::move(options));
    pool.acquire();
    sley::this_goroutine::sleep_for(2ms);
    EXPECT_EQ(pool.acquire()->number, 0);
  }
}

GO_TEST(pool, has_no_goroutine_of_its_own) {
  census c;
  const std::size_t before = sley::runtime::num_goroutines();
  wire_pool pool(wires(c, 5));
  pool.acquire();
  EXPECT_EQ(sley::runtime::num_goroutines(), before);
}

// ---- all together ----

GO_TEST(pool, a_storm_of_ends_loses_no_place) {
  census c;
  constexpr int max = 3;
  wire_options options = wires(c, max);
  options.idle_time = 50us;
  options.check = [](wire& l) { return l.is_good; };
  options.make = [&](const context&) {
    if (c.made % 7 == 3) {
      ++c.made;
      throw std::runtime_error("no wire");
    }
    return wire(c);
  };
  wire_pool pool(std::move(options));
  sley::wait_group users;
  for (int i = 0; i < 16; ++i) {
    users.go([&, i] {
      random_source random(static_cast<std::uint64_t>(i));
      for (int round = 0; round < rounds(300); ++round) {
        const auto [ctx, cancel] =
            sley::with_timeout(endless, std::chrono::microseconds(random.below(100)));
        try {
          std::error_code error;
          auto h = pool.acquire(ctx, error);
          EXPECT_EQ(static_cast<bool>(h), !error);
          if (h) sley::this_goroutine::yield();
          if (h && random.one_in(4)) h->is_good = false;
          if (random.one_in(5)) h.discard();
        } catch (const std::runtime_error&) {
        }
        cancel();
      }
    });
  }
  users.wait();
  EXPECT_LE(c.most, max);
  EXPECT_EQ(pool.in_use(), 0U);
  std::vector<wire_pool::handle> all;
  while (all.size() < max) {
    try {
      all.push_back(pool.acquire());
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(pool.in_use(), static_cast<std::size_t>(max)) << "a place was lost";
}

FOREIGN_TEST(pool, a_foreign_thread_blocks) {
  census c;
  wire_pool pool(wires(c, 1));
  sley_test::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.go([&] {
      for (int round = 0; round < rounds(100); ++round) {
        const auto h = pool.acquire();
        EXPECT_EQ(h->of.alive, 1);
      }
    });
  }
  threads.wait();
  EXPECT_EQ(c.most, 1);
}
