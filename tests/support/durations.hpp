// Durations and times at both ends: what no clock reaches, and what is over. For tests of functions
// that take one.
#pragma once

#include "support/harness.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ratio>

namespace sley_test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class F>
void with_each_that_never_ends(F f) {
  f(std::chrono::nanoseconds::max());
  f(std::chrono::microseconds::max());
  f(std::chrono::milliseconds::max());
  f(std::chrono::seconds::max());
  f(std::chrono::hours::max());
  f(std::chrono::years::max());
  f(std::chrono::duration<double>(infinity));
  f(std::chrono::duration<double>::max());
  f(std::chrono::duration<float, std::ratio<3600>>(1e30F));
  f(std::chrono::duration<std::uint64_t>::max());
  f(std::chrono::duration<std::int64_t, std::ratio<1, 60>>::max());
}

template <class F>
void with_each_that_is_over(F f) {
  f(std::chrono::nanoseconds(0));
  f(std::chrono::nanoseconds(-1));
  f(std::chrono::nanoseconds::min());
  f(std::chrono::seconds::min());
  f(std::chrono::hours::min());
  f(std::chrono::duration<double>(-infinity));
  f(std::chrono::duration<double>::min());
  f(std::chrono::duration<double>(not_a_number));
  f(std::chrono::duration<double>(-0.0));
}

template <class Duration>
using steady_time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

template <class F>
void with_each_steady_time_that_never_comes(F f) {
  f(sley::time_point::max());
  f(steady_time<std::chrono::seconds>::max());
  f(steady_time<std::chrono::hours>::max());
  f(steady_time<std::chrono::duration<double>>(std::chrono::duration<double>(infinity)));
}

template <class F>
void with_each_steady_time_that_is_past(F f) {
  f(sley::time_point());
  f(sley::time_point::min());
  f(steady_time<std::chrono::seconds>::min());
  f(steady_time<std::chrono::hours>::min());
  f(steady_time<std::chrono::duration<double>>(std::chrono::duration<double>(-infinity)));
  f(steady_time<std::chrono::duration<double>>(std::chrono::duration<double>(not_a_number)));
}

// The epoch of its clock is in the year 2174.
using file_time = std::chrono::file_clock::time_point;

template <class F>
void with_each_time_that_never_comes(F f) {
  with_each_steady_time_that_never_comes(f);
  f(std::chrono::system_clock::time_point::max());
  f(std::chrono::sys_seconds::max());
  f(std::chrono::sys_time<std::chrono::hours>::max());
  f(file_time::max());
}

template <class F>
void with_each_time_that_is_past(F f) {
  with_each_steady_time_that_is_past(f);
  f(std::chrono::system_clock::time_point::min());
  f(std::chrono::sys_seconds::min());
  f(std::chrono::sys_time<std::chrono::hours>::min());
  f(file_time::min());
}

// Calls wait() in a goroutine, which parks, and ends once end() was called. Not a template:
// callers have a function for each type of a duration, and each would compile this once more.
inline void expect_for_ever(const std::function<void()>& wait, const std::function<void()>& end) {
  const auto over = std::make_shared<sley::chan<void>>();
  go_until_parked([wait, over] {
    wait();
    over->close();
  });
  end();
  over->receive();
}

}  // namespace sley_test
