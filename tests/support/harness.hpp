// Shared by all tests: a test whose body is the main goroutine, waiting without sleeping, seeded
// chance, and a leak check.
//
//   GO_TEST(chan, close_wakes_every_receiver) { ... }    the body runs through sley::run
//   FOREIGN_TEST(chan, ...) { ... }                      the body runs on a plain thread
//
// Both check at their end that as many goroutines are alive as at their start. A watchdog ends the
// process if a test takes over three minutes. The output of a failed test ends with the command
// that runs it again. EXPECT_* may be used in any goroutine, ASSERT_* only leave the function they
// stand in.
#pragma once

#include "support/conditions.hpp"

#include <sley/sley.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace sley_test {

using namespace std::chrono_literals;

// `normally` repetitions, or a tenth of that in builds that are many times slower.
constexpr int rounds(int normally) {
  if (!under_sanitizer && !under_chaos) return normally;
  return normally < 10 ? normally : normally / 10;
}

// Yields until the predicate holds. False if it does not within the limit.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate predicate, std::chrono::nanoseconds limit = patience) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > deadline) return predicate();
    sley::this_goroutine::yield();
  }
  return true;
}

// The time when d will be over.
inline sley::time_point in(std::chrono::nanoseconds d) {
  return std::chrono::steady_clock::now() + d;
}

// Lets others run for a moment, for claims that something does not happen.
inline void let_others_run() {
  for (int i = 0; i < 200; ++i) sley::this_goroutine::yield();
}

// The calling goroutine, for is_parked while it lives.
const void* current_goroutine() noexcept;
bool is_parked(const void* goroutine) noexcept;

// Starts f in a goroutine and returns once that has parked and stays so, or has ended; whether it
// is parked.
template <class F>
bool go_until_parked_or_ended(F&& f) {
  struct progress {
    std::atomic<const void*> started{nullptr};
    std::atomic<bool> has_ended{false};
  };
  const auto seen = std::make_shared<progress>();
  sley::go([seen, f = std::forward<F>(f)]() mutable {
    seen->started = current_goroutine();
    f();
    seen->has_ended = true;
  });
  const bool is_settled = eventually([&] {
    if (seen->has_ended) return true;
    if (seen->started == nullptr || !is_parked(seen->started)) return false;
    let_others_run();
    return !seen->has_ended && is_parked(seen->started);
  });
  return is_settled && !seen->has_ended;
}

// For loops that do not end by themselves.
template <class F>
void go_until_parked(F&& f) {
  EXPECT_TRUE(go_until_parked_or_ended(std::forward<F>(f))) << "the goroutine does not park";
}

// Sets this number of processors while it lives; without a number the test sets its own. The number
// from before is back when it goes.
class processors {
 public:
  processors() = default;
  explicit processors(int count) { sley::runtime::set_max_procs(count); }
  ~processors() { sley::runtime::set_max_procs(before_); }
  processors(const processors&) = delete;
  processors& operator=(const processors&) = delete;

 private:
  int before_ = sley::runtime::max_procs();
};

inline constexpr sley::run_options on_this_thread{.on_this_thread = true};

// How long a stress test runs: SLEY_STRESS_SECONDS, or 5 seconds. The watchdog gives that time in
// addition.
std::chrono::seconds stress_duration();

// The seed of this process: SLEY_TEST_SEED, or a fresh one that a failure prints.
std::uint64_t seed();

// Chance that can be repeated (splitmix64); each stream of a seed is another sequence.
class random_source {
 public:
  using result_type = std::uint64_t;

  explicit random_source(std::uint64_t stream = 0);
  std::uint64_t operator()();
  std::uint64_t below(std::uint64_t n) { return (*this)() % n; }
  int index(std::size_t n) { return static_cast<int>(below(n)); }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

 private:
  std::uint64_t state_;
};

// Expects, when it goes, as many goroutines as there were when it came.
class leak_check {
 public:
  leak_check();
  ~leak_check();
  leak_check(const leak_check&) = delete;
  leak_check& operator=(const leak_check&) = delete;

 private:
  std::size_t before_;
};

void run_on_main_goroutine(void (*body)());
void run_on_this_thread(void (*body)());

}  // namespace sley_test

#define GO_TEST(suite, name) SLEY_TEST_BODY(suite, name, sley_test::run_on_main_goroutine)
#define FOREIGN_TEST(suite, name) SLEY_TEST_BODY(suite, name, sley_test::run_on_this_thread)

#define SLEY_TEST_BODY(suite, name, run)             \
  static void suite##_##name##_body();               \
  TEST(suite, name) { run(&suite##_##name##_body); } \
  static void suite##_##name##_body()
