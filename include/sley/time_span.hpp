// What functions take as a time to wait and as a time of the clock, and what settings keep: any
// duration and any time of std::chrono, as nanoseconds that never overflow.
//
// A function that took std::chrono::nanoseconds would have its caller convert hours::max(), which
// overflows before the call. What these two make of every value at hand:
//   * the largest value of any unit, infinity, and all else beyond 292 years: nanoseconds::max(),
//     which every function takes for "without limit" and every wait for "for ever";
//   * all that is not positive, and what is no number (NaN): the wait is over at once. The smallest
//     value of any unit is nanoseconds::min(); NaN is 0;
//   * parts of a nanosecond count as a whole one: no wait ends early.
#pragma once

#include <sley/detail/language.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sley {

namespace detail {

__extension__ typedef __int128 wide_integer;

// One tick of a period is `num` / `den` nanoseconds, in lowest terms.
template <class Period>
struct nanoseconds_per_tick {
  static constexpr wide_integer common_divisor(wide_integer a, wide_integer b) {
    while (b != 0) {
      const wide_integer rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
  static constexpr wide_integer of_second = wide_integer{Period::num} * 1'000'000'000;
  static constexpr wide_integer divisor = common_divisor(of_second, Period::den);
  static constexpr wide_integer num = of_second / divisor;
  static constexpr wide_integer den = Period::den / divisor;
};

// Rounded up, and clamped to what a std::int64_t holds. What is no number is 0.
template <class Rep, class Period>
constexpr std::int64_t whole_nanoseconds(const std::chrono::duration<Rep, Period>& d) {
  using tick = nanoseconds_per_tick<Period>;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if constexpr (std::is_integral_v<Rep>) {
    constexpr wide_integer most_ticks = most * tick::den / tick::num;
    const wide_integer ticks = d.count();
    if (ticks > most_ticks) return most;
    if (ticks < -most_ticks) return least;
    const wide_integer scaled = ticks * tick::num;
    return static_cast<std::int64_t>(scaled / tick::den + (scaled % tick::den > 0 ? 1 : 0));
  } else {
    if (d.count() != d.count()) return 0;  // no number
    const long double ns = static_cast<long double>(d.count()) *
                           static_cast<long double>(tick::num) /
                           static_cast<long double>(tick::den);
    if (ns <= static_cast<long double>(least)) return least;
    if (ns >= static_cast<long double>(most)) return most;
    const auto whole = static_cast<std::int64_t>(ns);
    return whole + (static_cast<long double>(whole) < ns ? 1 : 0);
  }
}

}  // namespace detail

// A duration. Converts from every one and is one itself.
class time_span : public std::chrono::nanoseconds {
 public:
  constexpr time_span() noexcept : std::chrono::nanoseconds(0) {}
  // From a duration of any unit and any type.
  template <class Rep, class Period>
  constexpr time_span(const std::chrono::duration<Rep, Period>& d)
      : std::chrono::nanoseconds(detail::whole_nanoseconds(d)) {}
  // The compiler names this constructor where it finds a number: it is what a reader is told.
  template <class a_time_needs_a_unit_such_as_5s>
    requires std::is_arithmetic_v<a_time_needs_a_unit_such_as_5s>
  time_span(a_time_needs_a_unit_such_as_5s number) = delete;
};

// A time of std::chrono::steady_clock. Converts from every one and is one itself.
class instant : public std::chrono::steady_clock::time_point {
 public:
  constexpr instant() noexcept = default;
  // From a time of any unit and any type.
  template <class Duration>
  constexpr instant(const std::chrono::time_point<std::chrono::steady_clock, Duration>& t)
      : time_point(std::chrono::nanoseconds(detail::whole_nanoseconds(t.time_since_epoch()))) {}
};

}  // namespace sley
