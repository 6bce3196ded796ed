// The block and the mutex profile: each wait is counted once at its place, with at least the time
// that the test has let it wait. From Go's TestBlockProfile and TestMutexProfile.
//
// The profiles of a process only grow, so each test waits in functions of its own. Without line
// numbers the functions have no names, and the tests that need them are skipped.
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/profile.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using sley::debug::profile_kind;
using sley_test::contains_match;
using sley_test::eventually;
using sley_test::go_until_parked;
using sley_test::not_a_tail_call;
using sley_test::parse_profile;
using sley_test::read_profile;
using namespace std::chrono_literals;

namespace {

constexpr auto each = 1ns;
constexpr auto held = 2ms;
constexpr std::uint64_t held_ns = std::chrono::nanoseconds(held).count();
constexpr int waiters = 5;

// On while it lives. The profile itself is read when it is off: reading makes goroutines wait.
class block_profile {
 public:
  explicit block_profile(sley::time_span rate = each) { sley::debug::set_block_profile_rate(rate); }
  ~block_profile() { sley::debug::set_block_profile_rate(0ns); }
  block_profile(const block_profile&) = delete;
  block_profile& operator=(const block_profile&) = delete;
};
class mutex_profile {
 public:
  explicit mutex_profile(int fraction = 1) {
    EXPECT_EQ(sley::debug::set_mutex_profile_fraction(fraction), 0);
  }
  ~mutex_profile() { sley::debug::set_mutex_profile_fraction(0); }
  mutex_profile(const mutex_profile&) = delete;
  mutex_profile& operator=(const mutex_profile&) = delete;
};

read_profile read(profile_kind kind) { return parse_profile(sley::debug::profile(kind)); }

// Runs wait() in a goroutine until it has waited for a while, then wake(), and returns when wait()
// has returned.
template <class Wait, class Wake>
void let_wait(Wait wait, Wake wake) {
  sley::wait_group end;
  end.add(1);
  go_until_parked([&] {
    wait();
    end.done();
  });
  sley::this_goroutine::sleep_for(held);
  wake();
  end.wait();
}

}  // namespace

// Functions that wait, and some that let others wait. Each is a place of its own.
[[gnu::noinline]] void receives_one(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void sends_one(const sley::chan<int>& c) {
  c.send(1);
  not_a_tail_call();
}
[[gnu::noinline]] void selects_of_two(const sley::chan<int>& a, const sley::chan<int>& b) {
  sley::select(sley::on_receive(a, [](auto) {}), sley::on_receive(b, [](auto) {}));
  not_a_tail_call();
}
[[gnu::noinline]] void locks_a_mutex(sley::mutex& m) {
  const std::lock_guard lock(m);
  not_a_tail_call();
}
[[gnu::noinline]] void locks_until_canceled(sley::mutex& m, const sley::context& ctx) {
  std::error_code error;
  m.lock(ctx, error);
  EXPECT_TRUE(error);
}
[[gnu::noinline]] void shares_a_mutex(sley::shared_mutex& m) {
  const std::shared_lock lock(m);
  not_a_tail_call();
}
[[gnu::noinline]] void locks_a_shared_mutex(sley::shared_mutex& m) {
  const std::lock_guard lock(m);
  not_a_tail_call();
}
[[gnu::noinline]] void waits_for_a_condition(sley::condition_variable& c, sley::mutex& m) {
  std::unique_lock lock(m);
  c.wait(lock);
}
[[gnu::noinline]] void takes_a_unit(sley::counting_semaphore<>& s) {
  s.acquire();
  not_a_tail_call();
}
[[gnu::noinline]] void waits_for_a_group(sley::wait_group& g) {
  g.wait();
  not_a_tail_call();
}
[[gnu::noinline]] void gets_a_future(sley::future<void>& f) {
  f.get();
  not_a_tail_call();
}
[[gnu::noinline]] void sleeps_alone() {
  sley::this_goroutine::sleep_for(held);
  not_a_tail_call();
}
[[gnu::noinline]] void receives_unseen(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void receives_rarely(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void receives_on_a_thread(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void receives_for_text(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void receives_before(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void receives_meanwhile(const sley::chan<int>& c) {
  c.receive();
  not_a_tail_call();
}
[[gnu::noinline]] void unlocks_for_many(sley::mutex& m) {
  m.unlock();
  not_a_tail_call();
}
[[gnu::noinline]] void unlocks_for_readers(sley::shared_mutex& m) {
  m.unlock();
  not_a_tail_call();
}
[[gnu::noinline]] void unlocks_for_a_writer(sley::shared_mutex& m) {
  m.unlock();
  not_a_tail_call();
}
[[gnu::noinline]] void ends_sharing(sley::shared_mutex& m) {
  m.unlock_shared();
  not_a_tail_call();
}
[[gnu::noinline]] void unlocks_unseen(sley::mutex& m) {
  m.unlock();
  not_a_tail_call();
}

GO_TEST(block_profile, has_each_wait_once_with_its_place_and_its_delay) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  {
    const block_profile on;
    const sley::chan<int> c;
    const sley::chan<int> other;
    let_wait([&] { receives_one(c); }, [&] { c.send(1); });
    let_wait([&] { sends_one(c); }, [&] { c.receive(); });
    let_wait([&] { selects_of_two(c, other); }, [&] { other.send(1); });
    sley::mutex m;
    m.lock();
    let_wait([&] { locks_a_mutex(m); }, [&] { m.unlock(); });
    sley::shared_mutex s;
    s.lock();
    let_wait([&] { shares_a_mutex(s); }, [&] { s.unlock(); });
    s.lock();
    let_wait([&] { locks_a_shared_mutex(s); }, [&] { s.unlock(); });
    sley::condition_variable condition;
    let_wait([&] { waits_for_a_condition(condition, m); }, [&] { condition.notify_one(); });
    sley::counting_semaphore<> units(0);
    let_wait([&] { takes_a_unit(units); }, [&] { units.release(); });
    sley::wait_group group;
    group.add(1);
    let_wait([&] { waits_for_a_group(group); }, [&] { group.done(); });
    sley::promise<void> promise;
    sley::future<void> future = promise.get_future();
    let_wait([&] { gets_a_future(future); }, [&] { promise.set_value(); });
  }
  const read_profile p = read(profile_kind::block);
  EXPECT_EQ(p.units, (std::vector<std::string>{"contentions/count", "delay/nanoseconds"}));
  EXPECT_EQ(p.period_unit, "contentions/count");
  EXPECT_EQ(p.period, 1u);
  for (const char* function : {"receives_one", "sends_one", "selects_of_two", "locks_a_mutex",
                               "shares_a_mutex", "locks_a_shared_mutex", "waits_for_a_condition",
                               "takes_a_unit", "waits_for_a_group", "gets_a_future"}) {
    EXPECT_EQ(p.total_in(function, 0), 1u) << function;
    EXPECT_GE(p.total_in(function, 1), held_ns) << function;
  }
}

GO_TEST(block_profile, has_waits_that_a_context_ends_and_waits_of_other_threads) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  {
    const block_profile on;
    sley::mutex m;
    m.lock();
    const auto ended = sley::with_cancel(sley::context());
    let_wait([&] { locks_until_canceled(m, ended.first); }, [&] { ended.second(); });
    m.unlock();
    const sley::chan<int> c;
    std::atomic<const void*> waiter{nullptr};
    std::thread thread([&] {
      sley::this_goroutine::yield();  // from now on the runtime knows the thread
      waiter = sley_test::current_goroutine();
      receives_on_a_thread(c);
    });
    EXPECT_TRUE(eventually([&] { return waiter != nullptr && sley_test::is_parked(waiter); }));
    sley::this_goroutine::sleep_for(held);
    c.send(1);
    sley::blocking([&] { thread.join(); });
  }
  const read_profile p = read(profile_kind::block);
  EXPECT_EQ(p.total_in("receives_on_a_thread", 0), 1u);
  // A second wait is for the end of the call that cancels.
  EXPECT_GE(p.total_in("locks_until_canceled", 0), 1u);
  EXPECT_LE(p.total_in("locks_until_canceled", 0), 2u);
  for (const char* function : {"locks_until_canceled", "receives_on_a_thread"}) {
    EXPECT_GE(p.total_in(function, 1), held_ns) << function;
  }
}

GO_TEST(block_profile, has_no_sleep_no_wait_while_it_is_off_and_few_short_ones) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const sley::chan<int> c;
  let_wait([&] { receives_unseen(c); }, [&] { c.send(1); });
  {
    const block_profile on;
    sleeps_alone();
  }
  {
    const block_profile off(-1ns);
    let_wait([&] { receives_unseen(c); }, [&] { c.send(1); });
  }
  {
    const block_profile rare(sley::time_span::max());
    let_wait([&] { receives_rarely(c); }, [&] { c.send(1); });
  }
  const read_profile p = read(profile_kind::block);
  for (const char* function : {"receives_unseen", "sleeps_alone", "receives_rarely"}) {
    EXPECT_EQ(p.total_in(function, 0), 0u) << function;
  }
}

GO_TEST(block_profile, as_text_has_the_layout_of_go) {
  {
    const block_profile on;
    const sley::chan<int> c;
    let_wait([&] { receives_for_text(c); }, [&] { c.send(1); });
  }
  const std::string text = sley::debug::profile_text(profile_kind::block);
  EXPECT_TRUE(text.starts_with("--- contention:\ncycles/second=1000000000\n")) << text;
  EXPECT_TRUE(contains_match(text, "^[0-9]+ 1 @( 0x[0-9a-f]+)+$")) << text;
  if (sley_test::has_line_numbers()) {
    EXPECT_TRUE(contains_match(
        text, "^#\t0x[0-9a-f]+\t.*receives_for_text.*[+]0x[0-9a-f]+\t.*_test.cpp:[0-9]+$"))
        << text;
  }
}

GO_TEST(mutex_profile, charges_the_holder_with_the_waits_of_all) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  {
    const mutex_profile on;
    sley::mutex m;
    sley::wait_group end;
    m.lock();
    for (int i = 0; i < waiters; ++i) {
      end.add(1);
      go_until_parked([&] {
        locks_a_mutex(m);
        end.done();
      });
    }
    sley::this_goroutine::sleep_for(held);
    unlocks_for_many(m);
    end.wait();
  }
  const read_profile p = read(profile_kind::mutex);
  EXPECT_EQ(p.units, (std::vector<std::string>{"contentions/count", "delay/nanoseconds"}));
  EXPECT_EQ(p.total_in("unlocks_for_many", 0), 1u);
  EXPECT_GE(p.total_in("unlocks_for_many", 1), waiters * held_ns);
}

GO_TEST(mutex_profile, has_both_sides_of_a_shared_mutex) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  {
    const mutex_profile on;
    sley::shared_mutex m;
    m.lock();
    let_wait([&] { shares_a_mutex(m); }, [&] { unlocks_for_readers(m); });
    m.lock();
    let_wait([&] { locks_a_shared_mutex(m); }, [&] { unlocks_for_a_writer(m); });
    m.lock_shared();
    let_wait([&] { locks_a_shared_mutex(m); }, [&] { ends_sharing(m); });
  }
  const read_profile p = read(profile_kind::mutex);
  for (const char* function : {"unlocks_for_readers", "unlocks_for_a_writer", "ends_sharing"}) {
    EXPECT_EQ(p.total_in(function, 0), 1u) << function;
    EXPECT_GE(p.total_in(function, 1), held_ns) << function;
  }
}

GO_TEST(mutex_profile, has_nothing_while_it_is_off_and_tells_its_fraction) {
  sley::mutex m;
  m.lock();
  let_wait([&] { locks_a_mutex(m); }, [&] { unlocks_unseen(m); });
  EXPECT_EQ(sley::debug::set_mutex_profile_fraction(-1), 0);
  {
    const mutex_profile rare(INT32_MAX);
    EXPECT_EQ(sley::debug::set_mutex_profile_fraction(-1), INT32_MAX);
    m.lock();
    let_wait([&] { locks_a_mutex(m); }, [&] { unlocks_unseen(m); });
  }
  EXPECT_EQ(read(profile_kind::mutex).total_in("unlocks_unseen", 0), 0u);
}

GO_TEST(mutex_profile, as_text_has_the_layout_of_go) {
  {
    const mutex_profile on;
    sley::mutex m;
    m.lock();
    let_wait([&] { locks_a_mutex(m); }, [&] { m.unlock(); });
  }
  const std::string text = sley::debug::profile_text(profile_kind::mutex);
  EXPECT_TRUE(contains_match(text, "^[0-9]+ 1 @( 0x[0-9a-f]+)+$")) << text;
  EXPECT_TRUE(text.starts_with("--- mutex:\ncycles/second=1000000000\nsampling period=0\n"))
      << text;
}

GO_TEST(delta_profile, has_what_comes_while_it_waits) {
  if (!sley_test::has_line_numbers()) GTEST_SKIP();
  const block_profile on;
  const sley::chan<int> c;
  let_wait([&] { receives_before(c); }, [&] { c.send(1); });
  std::atomic<bool> is_over{false};
  sley::wait_group end;
  end.add(1);
  sley::go([&] {
    while (!is_over) let_wait([&] { receives_meanwhile(c); }, [&] { c.send(1); });
    end.done();
  });
  read_profile p;
  const auto comes = [&] {
    p = parse_profile(sley::debug::delta_profile(profile_kind::block, held));
    EXPECT_GE(p.duration_ns, held_ns);
    EXPECT_EQ(p.total_in("receives_before", 0), 0u);
    return p.total_in("receives_meanwhile", 0) != 0;
  };
  EXPECT_TRUE(eventually(comes));
  is_over = true;
  end.wait();
}

GO_TEST(delta_profile, ends_with_its_context) {
  const auto [ctx, cancel] = sley::with_cancel(sley::context());
  cancel();
  std::error_code error;
  EXPECT_EQ(sley::debug::delta_profile(profile_kind::mutex, 1h, ctx, error), "");
  EXPECT_EQ(error, std::errc::operation_canceled);
  EXPECT_THROW(sley::debug::delta_profile(profile_kind::mutex, 1h, ctx), std::system_error);
}
