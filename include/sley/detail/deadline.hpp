// How long to wait: the standard's durations and times of any clock as nanoseconds of the steady
// clock.
#pragma once

#include <sley/detail/config.hpp>

#include <chrono>
#include <cstdint>
#include <type_traits>

namespace sley::detail {

// A deadline that never comes.
inline constexpr std::int64_t no_deadline = INT64_MAX;

// The steady clock's time d from now, clamped to no_deadline.
SLEY_API std::int64_t deadline_after(std::int64_t delay_ns) noexcept;

// Rounded up; what is too long is no_deadline, what is not positive (or no number) is 0.
template <class Rep, class Period>
constexpr std::int64_t whole_nanoseconds(const std::chrono::duration<Rep, Period>& d) {
  constexpr double too_many_seconds = 9.2e9;
  if (!(d > d.zero())) return 0;
  if (std::chrono::duration<double>(d).count() >= too_many_seconds) return no_deadline;
  return std::chrono::ceil<std::chrono::nanoseconds>(d).count();
}

template <class Rep, class Period>
std::int64_t deadline_in(const std::chrono::duration<Rep, Period>& d) {
  return deadline_after(whole_nanoseconds(d));
}

template <class Rep, class Period>
std::chrono::steady_clock::time_point time_in(const std::chrono::duration<Rep, Period>& d) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_in(d)));
}

// As far as can be known now: another clock may be set meanwhile.
template <class Clock, class Duration>
std::int64_t deadline_at(const std::chrono::time_point<Clock, Duration>& t) {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>) {
    return whole_nanoseconds(t.time_since_epoch());
  } else {
    const auto now = Clock::now();
    return t <= now ? deadline_after(0) : deadline_in(t - now);
  }
}

// Calls wait(deadline_ns) -> bool, true once what is waited for has come, until then or until the
// time t by its own clock.
template <class Clock, class Duration, class Wait>
bool wait_until_time(const std::chrono::time_point<Clock, Duration>& t, Wait wait) {
  for (;;) {  // ends when the clock has reached t
    if (wait(deadline_at(t))) return true;
    if (std::is_same_v<Clock, std::chrono::steady_clock> || Clock::now() >= t) return false;
  }
}

}  // namespace sley::detail
