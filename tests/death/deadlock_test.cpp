// When nothing can ever run again the process says so, shows every goroutine, and ends with status
// 2. A child says when its last goroutine is about to wait.
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/line_numbers.hpp"
#include "support/text.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using sley::chan;
using sley::run;
using sley_test::child_result;
using sley_test::occurrences;
using sley_test::on_this_thread;
using sley_test::run_child;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

using std::chrono::steady_clock;

// On a machine that has other things to do; alone it takes a fifth of a second.
constexpr auto detector_limit = sley_test::patience / 2;

std::int64_t now_ns() {
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

// From here on nothing happens any more.
void say_when() {
  std::printf("asleep at %" PRId64 "\n", now_ns());
  std::fflush(stdout);
}

// The child, and how long it took from its word to its end.
struct ending {
  child_result child;
  std::chrono::nanoseconds took{};
};

ending run_to_the_end(const std::string& name, const sley_test::environment& additions = {}) {
  ending result;
  result.child = run_child(name, additions);
  const std::int64_t ended = now_ns();
  const auto asleep = sley_test::groups_of(result.child.out, "asleep at ([0-9]+)$");
  if (!asleep.empty()) {
    result.took = std::chrono::nanoseconds(ended - std::stoll(asleep[1]));
  } else {
    ADD_FAILURE() << "says nothing: " << result.child;
  }
  return result;
}

constexpr const char* all_asleep = "fatal error: all goroutines are asleep - deadlock!\n";
constexpr const char* no_goroutines =
    "fatal error: no goroutines (main called runtime.Goexit) - deadlock!\n";

child_result expect_deadlock(const std::string& name, const char* message = all_asleep,
                             const sley_test::environment& additions = {}) {
  const ending end = run_to_the_end(name, additions);
  EXPECT_EQ(end.child.status, 2) << name << ": " << end.child;
  EXPECT_EQ(occurrences(end.child.err, message), 1) << name << ": " << end.child;
  EXPECT_LE(end.took, detector_limit) << name;
  return end.child;
}

// `goroutine N [state]:`, with the number of the main goroutine or another's.
int headers(const child_result& child, bool is_main, const std::string& state) {
  int count = 0;
  for (const std::string& line : sley_test::lines_of(child.err)) {
    const auto header = sley_test::groups_of(line, "^goroutine ([0-9]+) \\[([^]]*)]:$");
    if (!header.empty() && (header[1] == "1") == is_main && header[2] == state) ++count;
  }
  return count;
}

void expect_main(const child_result& child, const std::string& state) {
  EXPECT_EQ(headers(child, true, state), 1) << "main is not in state " << state << ": " << child;
}

void expect_others(const child_result& child, const std::string& state, int count) {
  EXPECT_EQ(headers(child, false, state), count) << "in state " << state << ": " << child;
}

// The thread sanitizer has a thread of its own, and the detector cannot know what that will do.
class deadlock : public testing::Test {
  void SetUp() override {
    if (sley_test::under_tsan) GTEST_SKIP() << "not all threads are known to be asleep";
  }
};

}  // namespace

// --- every way to wait ---------------------------------------------------------------------------

namespace {

struct way_to_wait {
  const char* reason;
  void (*wait)();
};

constexpr way_to_wait ways[] = {
    {"chan receive", [] { (void)chan<int>().receive(); }},
    {"chan send", [] { chan<int>().send(1); }},
    {"chan receive (nil chan)", [] { (void)chan<int>(nullptr).receive(); }},
    {"chan send (nil chan)", [] { chan<int>(nullptr).send(1); }},
    {"select",
     [] {
       const chan<int> a;
       const chan<int> b;
       sley::select(sley::on_receive(a), sley::on_send(b, 1));
     }},
    {"select (no cases)", [] { sley::block_forever(); }},
    {"sync.Mutex.Lock",
     [] {
       sley::mutex m;
       sley::wait_group other;
       other.go([&m] { m.lock(); });
       other.wait();
       m.lock();
     }},
    {"sync.WaitGroup.Wait",
     [] {
       sley::wait_group group;
       group.add(1);
       group.wait();
     }},
    {"future wait", [] { sley::async([] { sley::block_forever(); }).get(); }},
};

}  // namespace

CHILD_MAIN(main_waits) {
  const char* reason = std::getenv("SLEY_TEST_REASON");
  for (const auto& way : ways) {
    if (reason == nullptr || std::string(way.reason) != reason) continue;
    return run([&way] {
      say_when();
      way.wait();
      return 3;
    });
  }
  return 4;
}

// E1, TestSimpleDeadlock
TEST_F(deadlock, of_the_main_goroutine_is_found_and_its_wait_named) {
  for (const auto& way : ways) {
    const auto child =
        expect_deadlock("main_waits", all_asleep, {{"SLEY_TEST_REASON", way.reason}});
    expect_main(child, way.reason);
  }
}

CHILD_MAIN(all_wait) {
  return run([] {
    for (const auto& way : ways) sley::go(way.wait);
    this_goroutine::yield();
    say_when();
    (void)chan<void>().receive();
    return 3;
  });
}

TEST_F(deadlock, shows_every_goroutine_and_its_wait_reason) {
  const auto child = expect_deadlock("all_wait");
  expect_main(child, "chan receive");
  for (const auto& way : ways) {
    const bool also_for_the_future = std::string(way.reason) == "select (no cases)";
    expect_others(child, way.reason, also_for_the_future ? 2 : 1);
  }
  EXPECT_EQ(occurrences(child.err, "\ngoroutine "), static_cast<int>(std::size(ways)) + 2) << child;
  EXPECT_LT(child.err.find(all_asleep), child.err.find("\ngoroutine ")) << "the reason comes first";
}

// In the order of the cases: both goroutines have the same channel in their second one.
CHILD_MAIN(two_select) {
  return run([] {
    const chan<int> a;
    const chan<int> b;
    const chan<int> c(nullptr);
    sley::go([a, b] { sley::select(sley::on_receive(a), sley::on_send(b, 1)); });
    this_goroutine::yield();
    say_when();
    sley::select(sley::on_receive(chan<void>()), sley::on_receive(c), sley::on_send(b, 1));
    return 3;
  });
}

TEST_F(deadlock, names_the_channels_of_a_select) {
  const auto child = expect_deadlock("two_select");
  const std::string waits = " \\[select\\]:\n\twaits for one of 0x[0-9a-f]+, (0x[0-9a-f]+)\n";
  const auto of_main = sley_test::groups_of(child.err, "goroutine 1" + waits);
  const auto of_other = sley_test::groups_of(child.err, "goroutine [2-9]" + waits);
  ASSERT_FALSE(of_main.empty() || of_other.empty()) << child;
  EXPECT_EQ(of_main[1], of_other[1]) << child;
}

namespace {

sley::mutex left_lock;
sley::mutex right_lock;

}  // namespace

CHILD_MAIN(two_lock_in_both_orders) {
  return run([] {
    sley::wait_group have_one;
    have_one.add(2);
    const auto lock_both = [&](sley::mutex& one, sley::mutex& other) {
      one.lock();
      have_one.done();
      have_one.wait();
      other.lock();
    };
    sley::go([&] { lock_both(left_lock, right_lock); });
    say_when();
    lock_both(right_lock, left_lock);
    return 3;
  });
}

// `goroutine 1 [sync.Mutex.Lock]:` and below it `waits for 0x55f0c8a1 (left_lock), held by
// goroutine 2`.
TEST_F(deadlock, names_the_locks_and_their_holders) {
  const auto child = expect_deadlock("two_lock_in_both_orders");
  const auto waits = [](const char* number, const std::string& lock, const char* holder) {
    const std::string name = sley_test::has_line_numbers() ? " \\(.*" + lock + "\\)" : "";
    const std::string held = sley::detail::checks_lock_owners ? ", held by goroutine " : "";
    return std::string("goroutine ") + number + " \\[sync.Mutex.Lock\\]:\n\twaits for 0x[0-9a-f]+" +
           name + held + (held.empty() ? "" : holder) + "\n";
  };
  EXPECT_TRUE(sley_test::contains_match(child.err, waits("1", "left_lock", "[2-9]"))) << child;
  EXPECT_TRUE(sley_test::contains_match(child.err, waits("[2-9]", "right_lock", "1"))) << child;
}

namespace {

// A static object's constructor: before main.
const bool initialised = [] {
  if (std::getenv("SLEY_TEST_EARLY_DEADLOCK") != nullptr) {
    run([] {
      say_when();
      sley::block_forever();
    });
  }
  return true;
}();

}  // namespace

CHILD_MAIN(has_static_objects) { return initialised ? 3 : 4; }

// E1, TestInitDeadlock
TEST_F(deadlock, during_initialisation_is_found) {
  const auto child =
      expect_deadlock("has_static_objects", all_asleep, {{"SLEY_TEST_EARLY_DEADLOCK", "1"}});
  expect_main(child, "select (no cases)");
}

// --- locked goroutines ---------------------------------------------------------------------------

CHILD_MAIN(main_locks_and_waits) {
  return run([] {
    this_goroutine::lock_os_thread();
    say_when();
    sley::block_forever();
    return 3;
  });
}
CHILD_MAIN(main_waits_on_its_thread) {
  return run(on_this_thread, [] {
    say_when();
    sley::block_forever();
    return 3;
  });
}
CHILD_MAIN(another_locks_and_waits) {
  return run([] {
    sley::go([] {
      this_goroutine::lock_os_thread();
      sley::block_forever();
    });
    this_goroutine::sleep_for(1ms);
    say_when();
    sley::block_forever();
    return 3;
  });
}

// D10, LockedDeadlock and LockedDeadlock2
TEST_F(deadlock, of_locked_goroutines_is_found) {
  expect_main(expect_deadlock("main_locks_and_waits"), "select (no cases), locked to thread");
  expect_main(expect_deadlock("main_waits_on_its_thread"), "select (no cases), locked to thread");
  const auto child = expect_deadlock("another_locks_and_waits");
  expect_main(child, "select (no cases)");
  expect_others(child, "select (no cases), locked to thread", 1);
}

// --- main has gone -------------------------------------------------------------------------------

namespace {

void compute() {
  for (std::atomic<int> i{0}; i < 10; ++i) {
  }
}

template <class Prepare>
int main_exits_after(const sley::run_options& options, Prepare prepare) {
  return run(options, [&] {
    prepare();
    say_when();
    this_goroutine::exit();
  });
}

}  // namespace

CHILD_MAIN(main_exits) {
  return main_exits_after({}, [] {
    sley::go(compute);
    sley::go(compute);
  });
}
CHILD_MAIN(main_exits_on_its_thread) {
  return main_exits_after(on_this_thread, [] { sley::go(compute); });
}
CHILD_MAIN(main_exits_while_another_sleeps) {
  return main_exits_after({}, [] { sley::go([] { this_goroutine::sleep_for(1ms); }); });
}
CHILD_MAIN(main_exits_while_another_waits) {
  return main_exits_after({}, [] { sley::go([] { chan<int>().send(1); }); });
}

// E2, TestGoexitDeadlock, TestGoexitCrash
TEST_F(deadlock, after_main_has_exited_and_all_others_have_ended_is_named_so) {
  for (const char* name :
       {"main_exits", "main_exits_on_its_thread", "main_exits_while_another_sleeps"}) {
    const auto child = expect_deadlock(name, no_goroutines);
    EXPECT_EQ(occurrences(child.err, "asleep"), 0) << name << ": " << child;
  }
  const auto child = expect_deadlock("main_exits_while_another_waits");
  expect_others(child, "chan send", 1);
}

// --- found in spite of earlier events ------------------------------------------------------------

CHILD_MAIN(deadlocks_in_the_second_run) {
  if (run([] { return sley::async([] { return 5; }).get(); }) != 5) return 4;
  return run([] {
    say_when();
    (void)chan<int>().receive();
    return 3;
  });
}
CHILD_MAIN(deadlocks_after_stopping_timers) {
  return run([] {
    sley::timer channel_timer(1h);
    sley::timer function_timer = sley::after_func(1h, [] {});
    sley::ticker ticker(1h);
    channel_timer.stop();
    function_timer.stop();
    ticker.stop();
    (void)chan<int>().try_send_for(1, 1ms);
    say_when();
    (void)chan<int>().receive();
    return 3;
  });
}
CHILD_MAIN(deadlocks_after_threads_have_gone) {
  const chan<int> c;
  sley::go([c] {
    for (int i = 0; i < 20; ++i) c.send(i);
  });
  for (int i = 0; i < 20; ++i) std::thread([c] { (void)c.receive(); }).join();
  return run([] {
    this_goroutine::sleep_for(1ms);
    sley::blocking([] { usleep(1000); });
    usleep(30'000);
    say_when();
    (void)chan<int>().receive();
    return 3;
  });
}
CHILD_MAIN(a_hundred_wait_for_each_other) {
  return run([] {
    std::vector<chan<int>> ring(100);
    std::atomic<int> laps{0};
    for (std::size_t i = 0; i < ring.size(); ++i) {
      sley::go([&, i] {
        for (;;) {
          const int token = *ring[i].receive();
          if (++laps == 5000) continue;  // which keeps the token
          ring[(i + 1) % ring.size()].send(token);
        }
      });
    }
    ring[0].send(1);
    while (laps < 5000) this_goroutine::yield();
    say_when();
    (void)ring[0].receive();
    return 3;
  });
}
CHILD_MAIN(threads_wait_as_well) {
  std::atomic<int> inside{0};
  for (int i = 0; i < 3; ++i) {
    std::thread([&inside] {
      ++inside;
      (void)chan<int>().receive();
    }).detach();
  }
  while (inside < 3) std::this_thread::yield();
  return run([] {
    say_when();
    (void)chan<int>().receive();
    return 3;
  });
}

TEST_F(deadlock, is_found_after_any_earlier_work) {
  for (const char* name : {"deadlocks_in_the_second_run", "deadlocks_after_stopping_timers",
                           "deadlocks_after_threads_have_gone", "threads_wait_as_well"}) {
    expect_main(expect_deadlock(name), "chan receive");
  }
  const auto child = expect_deadlock("a_hundred_wait_for_each_other");
  expect_main(child, "chan receive");
  expect_others(child, "chan receive", 100);
}

// --- without a main goroutine --------------------------------------------------------------------

CHILD_MAIN(a_foreign_main_waits) {
  say_when();
  (void)chan<int>().receive();
  return 3;
}
CHILD_MAIN(a_foreign_main_waits_beside_goroutines) {
  const chan<int> never;
  for (int i = 0; i < 3; ++i) sley::go([never] { never.send(1); });
  sley::mutex m;
  std::thread([&m] { m.lock(); }).join();
  say_when();
  m.lock();
  return 3;
}

TEST_F(deadlock, of_a_foreign_main_thread_is_found) {
  // There are no goroutines at all, which is as good a way to say it.
  const ending alone = run_to_the_end("a_foreign_main_waits");
  EXPECT_EQ(alone.child.status, 2) << alone.child;
  EXPECT_TRUE(sley_test::contains_match(alone.child.err, "fatal error: .*deadlock!"))
      << alone.child;
  EXPECT_LE(alone.took, detector_limit);
  expect_others(expect_deadlock("a_foreign_main_waits_beside_goroutines"), "chan send", 3);
}
