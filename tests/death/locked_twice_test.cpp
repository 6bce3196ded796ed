// A goroutine that waits for a lock which it has: builds with debug checks say so, and where it has
// taken the lock, while others go on and nothing else would be noticed. And other misuse of what
// belongs to locks and promises.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/text.hpp"

#include <sley/net.hpp>
#include <sley/promise.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>

using sley::run;
using sley_test::run_child;
using namespace std::chrono_literals;

namespace {

#ifdef SLEY_DEBUG_CHECKS
constexpr bool has_checks = true;
#else
constexpr bool has_checks = false;
#endif

// The order of the places of a lock and of a wait is that of these functions.
template <class Mutex>
[[gnu::noinline]] void first_here(Mutex& m) {
  m.lock();
  sley_test::not_a_tail_call();
}
template <class Mutex>
[[gnu::noinline]] void again_here(Mutex& m) {
  const std::lock_guard lock(m);
  sley_test::not_a_tail_call();
}
[[gnu::noinline]] void first_shared_here(sley::shared_mutex& m) {
  m.lock_shared();
  sley_test::not_a_tail_call();
}
[[gnu::noinline]] void again_shared_here(sley::shared_mutex& m) {
  const std::shared_lock lock(m);
  sley_test::not_a_tail_call();
}

// Beside a goroutine that waits in the kernel, so that there is no deadlock to be reported.
template <class F>
int beside_another(F f) {
  return run([f] {
    sley::go([] {
      const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
      (void)listener.accept();
    });
    f();
    return 3;
  });
}

void expect_both_places(const char* name, const std::string& first, const std::string& again) {
  const auto child = run_child(name);
  EXPECT_EQ(child.status, 2) << name << ": " << child;
  const std::string line = child.err.substr(0, child.err.find('\n'));
  EXPECT_TRUE(sley_test::contains_match(line, "^fatal error: sley: a (shared_)?mutex is locked by"))
      << name << ": " << child;
  if (!sley_test::has_line_numbers()) return;
  EXPECT_TRUE(sley_test::contains_match(
      line, ": first in .*" + first + ".* at .*locked_twice_test.cpp:[0-9]+, again in .*" + again +
                ".* at .*locked_twice_test.cpp:[0-9]+$"))
      << name << ": " << child;
}

}  // namespace

CHILD_MAIN(locks_a_mutex_twice) {
  return beside_another([] {
    sley::mutex m;
    first_here(m);
    again_here(m);
  });
}
CHILD_MAIN(locks_a_mutex_twice_with_a_timeout_for_ever) {
  return beside_another([] {
    sley::mutex m;
    first_here(m);
    (void)m.try_lock_for(std::chrono::hours::max());
  });
}
CHILD_MAIN(locks_a_mutex_twice_after_parking) {
  return beside_another([] {
    sley::mutex m;
    first_here(m);
    sley::this_goroutine::sleep_for(1ms);
    again_here(m);
  });
}
CHILD_MAIN(locks_a_mutex_twice_after_contention) {
  return beside_another([] {
    sley::mutex m;
    m.lock();
    sley::wait_group others;
    others.go([&] {
      first_here(m);
      again_here(m);
    });
    sley::this_goroutine::yield();
    m.unlock();
    others.wait();
  });
}
CHILD_MAIN(locks_a_mutex_twice_in_a_thread) {
  sley::mutex m;
  first_here(m);
  again_here(m);
  return 3;
}
CHILD_MAIN(locks_a_shared_mutex_twice) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    again_here(m);
  });
}

TEST(locked_twice, is_an_error_that_names_both_places) {
  if (!has_checks) GTEST_SKIP() << "needs SLEY_CHECKS";
  for (const char* name : {"locks_a_mutex_twice", "locks_a_mutex_twice_after_parking",
                           "locks_a_mutex_twice_after_contention",
                           "locks_a_mutex_twice_in_a_thread", "locks_a_shared_mutex_twice"}) {
    expect_both_places(name, "first_here", "again_here");
  }
  expect_both_places("locks_a_mutex_twice_with_a_timeout_for_ever", "first_here", "child_locks");
}

CHILD_MAIN(shares_what_it_has_locked) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    again_shared_here(m);
  });
}
CHILD_MAIN(locks_what_it_shares) {
  return beside_another([] {
    sley::shared_mutex m;
    first_shared_here(m);
    again_here(m);
  });
}
CHILD_MAIN(shares_twice) {
  return beside_another([] {
    sley::shared_mutex m;
    first_shared_here(m);
    again_shared_here(m);
  });
}

CHILD_MAIN(locks_a_shared_mutex_twice_with_a_timeout_for_ever) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    (void)m.try_lock_for(std::chrono::hours::max());
  });
}
CHILD_MAIN(locks_what_it_shares_until_the_end_of_time) {
  return beside_another([] {
    sley::shared_mutex m;
    first_shared_here(m);
    (void)m.try_lock_until(std::chrono::steady_clock::time_point::max());
  });
}
CHILD_MAIN(shares_what_it_has_locked_with_a_timeout_for_ever) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    (void)m.try_lock_shared_for(std::chrono::nanoseconds::max());
  });
}
CHILD_MAIN(locks_a_shared_mutex_twice_with_a_context_that_never_ends) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    m.lock(sley::context());
  });
}
CHILD_MAIN(shares_what_it_has_locked_with_a_context_that_never_ends) {
  return beside_another([] {
    sley::shared_mutex m;
    first_here(m);
    m.lock_shared(sley::context());
  });
}
CHILD_MAIN(locks_a_mutex_twice_with_a_context_that_never_ends) {
  return beside_another([] {
    sley::mutex m;
    first_here(m);
    m.lock(sley::context());
  });
}

TEST(locked_twice, is_an_error_in_every_form_that_may_wait_for_ever) {
  if (!has_checks) GTEST_SKIP() << "needs SLEY_CHECKS";
  for (const char* name : {"locks_a_shared_mutex_twice_with_a_timeout_for_ever",
                           "shares_what_it_has_locked_with_a_timeout_for_ever",
                           "locks_a_shared_mutex_twice_with_a_context_that_never_ends",
                           "shares_what_it_has_locked_with_a_context_that_never_ends",
                           "locks_a_mutex_twice_with_a_context_that_never_ends"}) {
    expect_both_places(name, "first_here", "child_");
  }
  expect_both_places("locks_what_it_shares_until_the_end_of_time", "first_shared_here", "child_");
}

// --- in every build ------------------------------------------------------------------------------

CHILD_MAIN(waits_for_its_own_mutex) {
  return run([] {
    sley::mutex m;
    first_here(m);
    again_here(m);
  });
}
CHILD_MAIN(waits_for_its_own_writing) {
  return run([] {
    sley::shared_mutex m;
    first_here(m);
    again_here(m);
  });
}
CHILD_MAIN(waits_to_read_what_it_writes) {
  return run([] {
    sley::shared_mutex m;
    first_here(m);
    again_shared_here(m);
  });
}
CHILD_MAIN(waits_to_write_what_it_reads) {
  return run([] {
    sley::shared_mutex m;
    first_shared_here(m);
    again_here(m);
  });
}
CHILD_MAIN(waits_for_its_own_call) {
  return run([] {
    static sley::once_flag once;
    sley::call_once(once, [] { sley::call_once(once, [] {}); });
  });
}
CHILD_MAIN(waits_for_its_own_end) {
  return run([] {
    static sley::wait_group group;
    group.go([] { group.wait(); });
    group.wait();
  });
}

// An error of its own in builds with checks, and else a deadlock.
TEST(locked_twice, is_found_in_every_build_if_nothing_else_can_happen) {
  if (sley_test::under_tsan) GTEST_SKIP() << "not all threads are known to be asleep";
  struct expected {
    const char* name;
    const char* state;
    bool is_checked;
  };
  constexpr expected all[] = {
      {"waits_for_its_own_mutex", "sync.Mutex.Lock", true},
      {"waits_for_its_own_writing", "semaphore acquire|sync.RWMutex.Lock", true},
      {"waits_to_read_what_it_writes", "sync.RWMutex.RLock", true},
      {"waits_to_write_what_it_reads", "sync.RWMutex.Lock", true},
      {"waits_for_its_own_call", "once wait", false},
      {"waits_for_its_own_end", "sync.WaitGroup.Wait", false},
  };
  for (const expected& e : all) {
    const auto child = run_child(e.name);
    EXPECT_EQ(child.status, 2) << e.name << ": " << child;
    if (has_checks && e.is_checked) {
      EXPECT_NE(child.err.find("is locked by the goroutine that has locked it"), std::string::npos)
          << e.name << ": " << child;
    } else {
      EXPECT_EQ(child.err.rfind("fatal error: all goroutines are asleep - deadlock!\n", 0), 0U)
          << e.name << ": " << child;
      EXPECT_TRUE(sley_test::contains_match(child.err,
                                            std::string("^goroutine 1 \\[(") + e.state + ")\\]:$"))
          << e.name << ": " << child;
    }
  }
}

TEST(locked_twice, is_an_error_in_every_combination_of_exclusive_and_shared) {
  if (!has_checks) GTEST_SKIP() << "needs SLEY_CHECKS";
  expect_both_places("shares_what_it_has_locked", "first_here", "again_shared_here");
  expect_both_places("locks_what_it_shares", "first_shared_here", "again_here");
  expect_both_places("shares_twice", "first_shared_here", "again_shared_here");
}

GO_TEST(locked_twice, is_no_error_where_nothing_waits_for_ever) {
  sley::mutex m;
  m.lock();
  EXPECT_FALSE(m.try_lock());
  EXPECT_FALSE(m.try_lock_for(1ms));
  m.unlock();
  m.lock();
  m.unlock();
  sley::shared_mutex s;
  s.lock_shared();
  EXPECT_TRUE(s.try_lock_shared());
  EXPECT_FALSE(s.try_lock());
  EXPECT_FALSE(s.try_lock_for(1ms));
  s.unlock_shared();
  s.unlock_shared();
  sley::recursive_mutex r;
  r.lock();
  r.lock();
  r.unlock();
  r.unlock();
  sley::shared_mutex other;
  const std::shared_lock one(s);
  const std::shared_lock two(other);
}

GO_TEST(condition_variable_any, refuses_a_lock_that_is_not_held) {
  sley::mutex m;
  sley::shared_mutex s;
  sley::condition_variable_any c;
  std::unique_lock lock(m, std::defer_lock);
  std::shared_lock shared(s, std::defer_lock);
  std::stop_source stop;
  EXPECT_THROW(c.wait(lock), std::logic_error);
  EXPECT_THROW(c.wait_for(lock, 1ms), std::logic_error);
  EXPECT_THROW(c.wait(shared), std::logic_error);
  EXPECT_THROW(c.wait(lock, stop.get_token(), [] { return false; }), std::logic_error);
  EXPECT_THROW(c.wait_for(lock, stop.get_token(), 1ms, [] { return false; }), std::logic_error);
  EXPECT_TRUE(m.try_lock());
  m.unlock();
}

GO_TEST(promise, refuses_a_null_exception) {
  sley::promise<int> p;
  auto f = p.get_future();
  EXPECT_THROW(p.set_exception(nullptr), std::invalid_argument);
  EXPECT_FALSE(f.is_ready());
  p.set_value(7);
  EXPECT_EQ(f.get(), 7);
  sley::promise<void> nothing;
  EXPECT_THROW(nothing.set_exception(std::exception_ptr()), std::invalid_argument);
}
