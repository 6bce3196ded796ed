// How long to wait: the standard's durations and times of any clock as nanoseconds of the steady
// clock. No sum and no difference here overflows: it ends at the largest or the smallest value.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sley {

class context;

namespace sync {
class wait_ender;
}

}  // namespace sley

namespace sley::detail {

// A deadline that never comes.
inline constexpr std::int64_t no_deadline = INT64_MAX;

// How long a wait lasts: until a deadline, or until an ender, which a context has, ends it.
struct wait_limit {
  constexpr wait_limit(std::int64_t ns) noexcept : deadline_ns(ns) {}
  explicit wait_limit(sync::wait_ender& e) noexcept : ender(&e) {}
  constexpr bool is_none() const noexcept { return deadline_ns == no_deadline && ender == nullptr; }

  std::int64_t deadline_ns = no_deadline;
  sync::wait_ender* ender = nullptr;
};

// The steady clock's time d from now, clamped to no_deadline; now, if d is not positive.
SLEY_API std::int64_t deadline_after(std::int64_t delay_ns) noexcept;

inline std::int64_t deadline_in(time_span d) noexcept { return deadline_after(d.count()); }

inline std::chrono::steady_clock::time_point time_in(time_span d) noexcept {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_in(d)));
}

constexpr std::int64_t saturated_sum(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : no_deadline;
}

constexpr std::int64_t saturated_difference(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b > 0 ? std::numeric_limits<std::int64_t>::min() : no_deadline;
}

// The time d after t.
constexpr std::chrono::steady_clock::time_point later(std::chrono::steady_clock::time_point t,
                                                      time_span d) noexcept {
  const std::int64_t at_ns = saturated_sum(t.time_since_epoch().count(), d.count());
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(at_ns));
}

template <class Clock, class Duration>
constexpr std::int64_t nanoseconds_of(const std::chrono::time_point<Clock, Duration>& t) {
  return whole_nanoseconds(t.time_since_epoch());
}

// What is left until t; nanoseconds::max() if t never comes.
template <class Clock, class Duration>
time_span time_until(const std::chrono::time_point<Clock, Duration>& t) {
  const std::int64_t at_ns = nanoseconds_of(t);
  if (at_ns == no_deadline) return time_span::max();
  return std::chrono::nanoseconds(saturated_difference(at_ns, nanoseconds_of(Clock::now())));
}

// As far as can be known now: another clock may be set meanwhile.
template <class Clock, class Duration>
std::int64_t deadline_at(const std::chrono::time_point<Clock, Duration>& t) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    const std::int64_t at_ns = nanoseconds_of(t);
    return at_ns < 0 ? 0 : at_ns;
  } else {
    return deadline_in(time_until(t));
  }
}

// Whether t's own clock has reached it.
template <class Clock, class Duration>
bool has_come(const std::chrono::time_point<Clock, Duration>& t) {
  return nanoseconds_of(Clock::now()) >= nanoseconds_of(t);
}

// Calls wait(deadline_ns) -> bool, true once what is waited for has come, until then or until the
// time t by its own clock.
template <class Clock, class Duration, class Wait>
bool wait_until_time(const std::chrono::time_point<Clock, Duration>& t, Wait wait) {
  for (;;) {  // ends when the clock has reached t
    if (wait(deadline_at(t))) return true;
    if (std::is_same_v<Clock, std::chrono::steady_clock> || has_come(t)) return false;
  }
}

}  // namespace sley::detail
