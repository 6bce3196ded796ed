// Deterministic tests: a program's goroutines are played in many orders, each named by a seed, and
// what goes wrong in one of them happens again whenever that seed is played.
//
//   sley::testing::report r = sley::testing::explore({.schedules = 1000}, [] {
//     sley::mutex m;
//     int balance = 0;
//     ...
//     sley::testing::check(balance == 0, "nothing is lost");
//   });
//   EXPECT_TRUE(r.is_clean()) << r.to_string();
//
// Link sley::testing instead of sley::sley: it is all of sley, the real scheduler included, built
// to run on one thread of the system that plays all the others. Points where another goroutine may
// go on are all calls of the library, and testing::point(). Time is virtual: it stands while a
// goroutine can run (for a thousand points, if none sleeps) and jumps to the next timer when none
// can, so an hour's sleep costs nothing (Go's testing/synctest); steady_clock, and sleeps of the
// system, follow it.
//
// Built with the thread sanitizer (clang, -fsanitize=thread, the library and the program), it finds
// data races as well: two goroutines that touch the same memory with nothing between them that
// orders it, whether or not it goes wrong in that schedule. Variables that are thread_local are
// left out: all threads that are played share the variables of one.
//
// Not simulated: threads that the program starts itself, its std::mutex (a goroutine that holds one
// across a point stops all others), its plain and atomic variables (put a point() where other
// goroutines may come in between, or use testing::atomic), and what other processes do.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/parts.hpp>
#include <sley/time_span.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

#ifdef SLEY_WITHOUT_TESTING
#error "sley: <sley/testing.hpp> is not there: this sley was built without it (SLEY_TESTING=OFF)"
#endif

namespace sley::testing {

// How the next goroutine to run is chosen.
enum class strategy : std::uint8_t {
  random,      // at each point any thread may go on
  priorities,  // each thread has one; at `depth` - 1 points the running one's becomes the lowest.
               // Finds bugs that take one order among many (PCT, Burckhardt et al. 2010)
  exhaustive,  // all orders with at most `preemptions` changes away from a thread that could go on
};

// What went wrong.
enum class failure : std::uint8_t {
  none,       // nothing
  check,      // testing::check
  exception,  // left the function, or a goroutine
  deadlock,   // all are asleep for ever
  leak,       // goroutines are left a while after the function has returned
  live_lock,  // more than max_steps points
  fatal,      // misuse that the library reports and ends the process for
  data_race,  // in a build with the thread sanitizer: between goroutines, or of the library
  crash,      // a signal, or an exit that is not the function's end
  timeout,    // it computed, or slept in the kernel, for longer than `patience`
};

// Which orders are played, and how long one may take.
struct options {
  std::uint64_t schedules = 1000;                          // at most
  std::uint64_t seed = 1;                                  // of the first; the others count up
  testing::strategy strategy = testing::strategy::random;  // which orders
  int procs = 4;                                           // Ps, 1 to 256
  int depth = 3;                                           // strategy::priorities, 1 to 32
  int preemptions = 2;                                     // strategy::exhaustive, 0 to 255
  std::uint64_t max_steps = 1'000'000;                     // points in one schedule
  time_span grace = std::chrono::seconds(1);               // of virtual time, for goroutines to end
  time_span patience = std::chrono::seconds(60);  // of real time, for one schedule; at least 1 s
  bool every_atomic = false;  // points inside the library too: for tests of the library itself
};

// The first finding; the search ends with it.
struct report {
  failure kind = failure::none;  // none: all orders went well
  std::string seed;              // SLEY_SEED=... plays it again, and nothing else
  std::string message;          // what the process said at its end, all goroutines' stacks included
  std::string schedule;         // which thread came by where, in order
  std::uint64_t schedules = 0;  // played
  std::uint64_t steps = 0;      // points passed in the last one
  std::uint64_t hash = 0;       // of all that happened in the last one, in its order
  bool is_complete = false;     // strategy::exhaustive: there are no others

  // Whether nothing was found.
  bool is_clean() const noexcept { return kind == failure::none; }
  // All of it, for a person to read.
  SLEY_API std::string to_string() const;
};

// Plays f as the main goroutine of a runtime of its own, again and again, each time in a child
// process (fork(2)) and by another seed, until something goes wrong or all schedules are played.
// What f writes to the standard streams is part of the message only. If SLEY_SEED is in the
// environment only that one is played. Blocks the thread. Not for goroutines, and not in a process
// that has used the library otherwise: std::logic_error. A value out of its range:
// std::invalid_argument; fork or memory refused: std::system_error.
SLEY_API report explore(const options& o, const std::function<void()>& f);

// Ends the schedule with failure::check, naming what and where, if `holds` is false. From any
// goroutine of it.
SLEY_API void check(bool holds, std::string_view what = {},
                    std::source_location where = std::source_location::current());

// Other goroutines may come in between here. Does nothing outside of a simulation.
SLEY_API void point() noexcept;

// std::atomic with a point before each operation.
template <class T>
class atomic {
 public:
  constexpr atomic() noexcept = default;
  constexpr atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    point();
    return value_.load(order);
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    point();
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    point();
    return value_.exchange(value, order);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) noexcept {
    point();
    return value_.compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    point();
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    point();
    return value_.fetch_sub(value, order);
  }
  operator T() const noexcept { return load(); }  // NOLINT: as std::atomic
  T operator=(T value) noexcept {                 // NOLINT: as std::atomic
    store(value);
    return value;
  }
  T operator++() noexcept { return fetch_add(1) + 1; }
  T operator++(int) noexcept { return fetch_add(1); }
  T operator--() noexcept { return fetch_sub(1) - 1; }
  T operator--(int) noexcept { return fetch_sub(1); }

 private:
  std::atomic<T> value_{};
};

}  // namespace sley::testing
