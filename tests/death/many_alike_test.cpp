// Dumps of a program with very many goroutines in one place: what each was doing when the dump was
// asked for, and no more text than a reader can use.
#include "support/child.hpp"
#include "support/dump.hpp"
#include "support/harness.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <unistd.h>

using sley::run;
using sley_test::goroutines_in;
using sley_test::occurrences;
using sley_test::run_child;
namespace this_goroutine = sley::this_goroutine;
using namespace std::chrono_literals;

namespace {

constexpr int shown_of_each = 100;
constexpr int blocked = sley_test::under_sanitizer ? 300 : 1500;
constexpr int parked = 20'000;

// A call that a signal ends.
[[gnu::noinline]] void sleeps_once() {
  sley::blocking([] { ::usleep(300'000'000); });
  sley_test::not_a_tail_call();
}

void start_blocked(int count, std::atomic<int>& begun) {
  for (int i = 0; i < count; ++i) {
    sley::go([&begun] {
      ++begun;
      sleeps_once();
    });
  }
}

int shown_with(const std::string& text, const std::string& state) {
  const auto shown = goroutines_in(text);
  return static_cast<int>(
      std::count_if(shown.begin(), shown.end(), [&](const auto& g) { return g.state == state; }));
}

}  // namespace

CHILD_MAIN(many_block) {
  return run([] {
    static std::atomic<int> begun{0};
    start_blocked(blocked, begun);
    if (!sley_test::eventually([] { return begun == blocked; })) return 4;
    this_goroutine::sleep_for(100ms);  // the last ones get into the call
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}

TEST(many_alike, that_block_are_shown_in_their_call_and_together) {
  const auto child = run_child("many_block");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_LE(shown_with(child.err, "runnable"), 1) << child;
  EXPECT_GE(shown_with(child.err, "syscall"), shown_of_each) << child;
  EXPECT_LT(shown_with(child.err, "syscall"), 3 * shown_of_each) << child;
  EXPECT_TRUE(
      sley_test::contains_match(child.err, "goroutine [0-9]+ and [0-9]+ others \\[syscall\\]:"))
      << child;
  EXPECT_LT(child.err.size(), std::size_t{400'000});
}

CHILD_MAIN(many_park) {
  return run([] {
    const sley::chan<int> never;
    std::vector<const void*> all(parked);
    sley::wait_group ready;
    for (const void*& own : all) {
      ready.add(1);
      sley::go([&own, &ready, never] {
        own = sley_test::current_goroutine();
        ready.done();
        sley_test::parks_here(never);
      });
    }
    ready.wait();
    EXPECT_TRUE(
        sley_test::eventually([&] { return std::ranges::all_of(all, sley_test::is_parked); }));
    ::kill(::getpid(), SIGQUIT);
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}

TEST(many_alike, that_park_are_all_counted) {
  const auto child = run_child("many_park");
  EXPECT_EQ(child.status, 2) << child;
  // Some come there another way inside.
  int others = 0;
  for (const std::string& line : sley_test::lines_of(child.err)) {
    const auto more =
        sley_test::groups_of(line, "^goroutine [0-9]+ and ([0-9]+) others \\[chan receive\\]:$");
    if (!more.empty()) others += std::stoi(more[1]);
  }
  const int headers = shown_with(child.err, "chan receive");
  EXPECT_EQ(headers + others, parked) << child;
  EXPECT_LT(headers, 4 * shown_of_each) << child;
  EXPECT_NE(child.err.find("\tgoroutines "), std::string::npos) << "says which: " << child;
  EXPECT_LT(child.err.size(), std::size_t{400'000});
}

CHILD_MAIN(many_threads_exhaust_the_limit) {
  return run([] {
    static std::atomic<int> begun{0};
    sley::runtime::set_max_threads(blocked);
    start_blocked(blocked + 100, begun);
    this_goroutine::sleep_for(sley_test::patience);
    return 3;
  });
}

TEST(many_alike, that_exhaust_the_threads_name_the_setting) {
  const auto child = run_child("many_threads_exhaust_the_limit");
  EXPECT_EQ(child.status, 2) << child;
  EXPECT_EQ(occurrences(child.err, "set_max_threads"), 1) << child;
  EXPECT_GE(shown_with(child.err, "syscall"), shown_of_each) << child;
  EXPECT_LT(child.err.size(), std::size_t{400'000});
}
