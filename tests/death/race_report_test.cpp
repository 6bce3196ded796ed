// Reports of the thread sanitizer say which goroutine they are about, and where that was started.
// The sanitizer knows the library's locks: it reports that they are taken in different orders.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <sley/debug.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using sley_test::contains_match;
using sley_test::run_child;
using sley_test::run_children;

namespace {

int shared_without_a_lock = 0;

void add_many() {
  for (int i = 0; i < 100'000; ++i) ++shared_without_a_lock;
}

template <class F>
[[gnu::noinline]] void start_left(F f) {
  sley::go({.name = "first name"}, std::move(f));
}

// The stack below the line that names the goroutine.
std::string creation_of(std::string_view goroutine, const std::string& report) {
  const std::size_t name = report.find(goroutine);
  if (name == std::string::npos) return {};
  const std::size_t begin = report.find("created by", name);
  return report.substr(begin, report.find("\n\n", begin) - begin);
}

}  // namespace

CHILD_MAIN(races) {
  return sley::run([] {
    std::atomic<int> begun = 0;
    const auto race = [&begun] {
      ++begun;
      while (begun != 2) std::this_thread::yield();
      add_many();
    };
    sley::wait_group end;
    end.add(1);
    start_left([&] {
      sley::this_goroutine::set_name("left");
      race();
      end.done();
    });
    std::thread other(race);
    sley::blocking([&other] { other.join(); });
    end.wait();
    return 3;
  });
}

TEST(race_report, names_the_goroutine) {
  if (!sley_test::under_tsan) GTEST_SKIP() << "there is no thread sanitizer";
  // Otherwise the scheduler may put the goroutine behind the other one that waits for the thread.
  const auto child = run_child("races", {{"SLEYDEBUG", "seqraces=1"}});
  EXPECT_TRUE(child.failed()) << child;
  EXPECT_TRUE(contains_match(child.err, "WARNING: ThreadSanitizer: data race")) << child;
  EXPECT_TRUE(contains_match(child.err, "Thread T[0-9]+ 'goroutine [0-9]+ left' ")) << child;
  EXPECT_TRUE(contains_match(creation_of(" left' ", child.err), "start_left")) << child;
}

// The first lookups of names in the process: each reads the program's tables, and the threads share
// what one of them has read.
CHILD_MAIN(looks_up_names_at_once) {
  return sley::run([] {
    const std::vector<sley::debug::goroutine_info> all = sley::debug::goroutines();
    std::atomic<int> begun = 0;
    const auto look_up = [&] {
      ++begun;
      while (begun != 2) std::this_thread::yield();
      for (int i = 0; i < 3; ++i) EXPECT_NE(sley::debug::goroutines_text(all), "");
    };
    std::thread first(look_up);
    std::thread second(look_up);
    sley::blocking([&] {
      first.join();
      second.join();
    });
    return sley_test::verdict();
  });
}

TEST(race_report, does_not_come_for_names_that_are_looked_up_at_once) {
  for (const auto& child : run_children(std::vector<std::string>(4, "looks_up_names_at_once"))) {
    EXPECT_EQ(child.status, 7) << child;
    EXPECT_EQ(child.err, "") << child;
  }
}

namespace {

template <class First, class Second>
void lock_both(First&& first, Second&& second) {
  sley::wait_group end;
  end.go([&] {
    const auto outer = first();
    const auto inner = second();
  });
  end.wait();
}

template <class L>
auto locks(L& lock) {
  return [&lock] { return std::unique_lock<L>(lock); };
}
template <class L>
auto shares(L& lock) {
  return [&lock] { return std::shared_lock<L>(lock); };
}
template <class L>
auto tries(L& lock) {
  return [&lock] { return std::unique_lock<L>(lock, std::try_to_lock); };
}
template <class L>
auto waits_a_moment(L& lock) {
  return [&lock] { return std::unique_lock<L>(lock, std::chrono::seconds(1)); };
}

}  // namespace

CHILD_MAIN(inverts_mutexes) {
  return sley::run([] {
    sley::mutex a;
    sley::mutex b;
    lock_both(locks(a), locks(b));
    lock_both(locks(b), locks(a));
    return 3;
  });
}

CHILD_MAIN(inverts_recursive_mutexes) {
  return sley::run([] {
    sley::recursive_mutex a;
    sley::recursive_mutex b;
    lock_both(locks(a), locks(b));
    lock_both(locks(b), locks(a));
    return 3;
  });
}

CHILD_MAIN(inverts_shared_mutexes) {
  return sley::run([] {
    sley::shared_mutex a;
    sley::mutex b;
    lock_both(shares(a), locks(b));
    lock_both(locks(b), locks(a));
    return 3;
  });
}

CHILD_MAIN(inverts_with_a_thread) {
  return sley::run([] {
    sley::mutex a;
    sley::mutex b;
    lock_both(locks(a), locks(b));
    std::thread thread([&] {
      const auto outer = locks(b)();
      const auto inner = locks(a)();
    });
    sley::blocking([&thread] { thread.join(); });
    return 3;
  });
}

namespace {

// More than 64, of which the sanitizer's check would end the process.
class many_locks {
 public:
  many_locks() {
    for (sley::mutex& m : owned_) m.lock();
    for (sley::shared_mutex& m : shared_) m.lock_shared();
  }
  ~many_locks() {
    for (sley::mutex& m : owned_) m.unlock();
    for (sley::shared_mutex& m : shared_) m.unlock_shared();
  }
  many_locks(const many_locks&) = delete;
  many_locks& operator=(const many_locks&) = delete;

 private:
  std::array<sley::mutex, 100> owned_;
  std::array<sley::shared_mutex, 100> shared_;
};

}  // namespace

// For the sanitizer, one thread holds the locks of the thread and of the main goroutine.
CHILD_MAIN(holds_many_locks) {
  const many_locks of_thread;
  return sley::run({.on_this_thread = true}, [] {
    const many_locks of_main;
    sley::wait_group end;
    end.go([] { many_locks of_goroutine; });
    end.wait();
    return 3;
  });
}

CHILD_MAIN(inverts_after_many_locks) {
  return sley::run([] {
    sley::mutex a;
    sley::mutex b;
    lock_both(locks(a), locks(b));
    lock_both(
        [&b] {
          many_locks();
          return std::unique_lock(b);
        },
        locks(a));
    return 3;
  });
}

// Orders that can't end in a deadlock: one of the locks is not waited for, or not for ever, or both
// are other locks at the places of former ones.
CHILD_MAIN(inverts_without_danger) {
  return sley::run([] {
    sley::mutex a;
    sley::shared_mutex b;
    lock_both(locks(a), locks(b));
    lock_both(locks(b), tries(a));
    lock_both(locks(b), waits_a_moment(a));
    lock_both(shares(b), tries(a));
    for (int turn = 0; turn < 4; ++turn) {
      std::optional<sley::mutex> places[2];
      places[0].emplace();
      places[1].emplace();
      lock_both(locks(*places[turn % 2]), locks(*places[1 - turn % 2]));
    }
    return 3;
  });
}

TEST(lock_order_report, comes_for_locks_in_different_orders) {
  if (!sley_test::under_tsan) GTEST_SKIP() << "there is no thread sanitizer";
  for (const auto& child :
       run_children({"inverts_mutexes", "inverts_recursive_mutexes", "inverts_shared_mutexes",
                     "inverts_with_a_thread", "inverts_after_many_locks"})) {
    EXPECT_TRUE(child.failed()) << child;
    EXPECT_TRUE(contains_match(child.err, "WARNING: ThreadSanitizer: lock-order-inversion"))
        << child;
  }
}

TEST(lock_order_report, does_not_come_for_orders_without_danger) {
  const auto child = run_child("inverts_without_danger");
  EXPECT_EQ(child.status, 3) << child;
  EXPECT_EQ(child.err, "") << child;
}

TEST(lock_order_report, does_not_come_for_many_locks) {
  const auto child = run_child("holds_many_locks");
  EXPECT_EQ(child.status, 3) << child;
  EXPECT_EQ(child.err, "") << child;
}
