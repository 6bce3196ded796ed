// HTTP's dates: RFC 9110, 5.6.7. Not by strftime and strptime, whose names follow the locale, and
// which take more than is allowed.
#include "http/text.hpp"

#include <sley/http/fields.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <time.h>

namespace sley::http::detail {

namespace {

constexpr std::array<std::string_view, 7> short_days = {"Sun", "Mon", "Tue", "Wed",
                                                        "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> long_days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Takes a text apart from left to right. What does not fit makes all that follows fail.
class date_reader {
 public:
  explicit date_reader(std::string_view text) noexcept : rest_(text) {}

  void skip(std::string_view expected) noexcept {
    if (!take(expected)) is_good_ = false;
  }
  // The index; 0 if it is none of them.
  int name(std::span<const std::string_view> names) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (take(names[i])) return static_cast<int>(i);
    }
    is_good_ = false;
    return 0;
  }
  int number(std::size_t digits) noexcept {
    const auto n = parse_decimal(rest_.substr(0, digits));
    if (!n || rest_.size() < digits) is_good_ = false;
    rest_.remove_prefix(std::min(digits, rest_.size()));
    return static_cast<int>(n.value_or(0));
  }
  void time_of_day(std::tm& into) noexcept {
    into.tm_hour = number(2);
    skip(":");
    into.tm_min = number(2);
    skip(":");
    into.tm_sec = number(2);
  }
  bool begins_with(char c) const noexcept { return rest_.starts_with(c); }
  bool is_at_end() const noexcept { return is_good_ && rest_.empty(); }

 private:
  bool take(std::string_view expected) noexcept {
    if (!equals_ignoring_case(rest_.substr(0, expected.size()), expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

// "Sun, 06 Nov 1994 08:49:37 GMT"
bool read_usual(std::string_view text, std::tm& into) noexcept {
  date_reader in(text);
  in.name(short_days);
  in.skip(", ");
  into.tm_mday = in.number(2);
  in.skip(" ");
  into.tm_mon = in.name(months);
  in.skip(" ");
  into.tm_year = in.number(4) - 1900;
  in.skip(" ");
  in.time_of_day(into);
  in.skip(" GMT");
  return in.is_at_end();
}

// A year that seems to be more than 50 years ahead is the last one with the same two digits.
int whole_year(int two_digits) noexcept {
  const std::time_t now = current_second();
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  const int this_year = parts.tm_year + 1900;
  const int year = this_year / 100 * 100 + two_digits;
  return year > this_year + 50 ? year - 100 : year;
}

// "Sunday, 06-Nov-94 08:49:37 GMT", of RFC 850
bool read_old(std::string_view text, std::tm& into) noexcept {
  date_reader in(text);
  in.name(long_days);
  in.skip(", ");
  into.tm_mday = in.number(2);
  in.skip("-");
  into.tm_mon = in.name(months);
  in.skip("-");
  into.tm_year = whole_year(in.number(2)) - 1900;
  in.skip(" ");
  in.time_of_day(into);
  in.skip(" GMT");
  return in.is_at_end();
}

// "Sun Nov  6 08:49:37 1994", of asctime()
bool read_asctime(std::string_view text, std::tm& into) noexcept {
  date_reader in(text);
  in.name(short_days);
  in.skip(" ");
  into.tm_mon = in.name(months);
  in.skip(" ");
  const bool is_padded = in.begins_with(' ');
  if (is_padded) in.skip(" ");
  into.tm_mday = in.number(is_padded ? 1 : 2);
  in.skip(" ");
  in.time_of_day(into);
  in.skip(" ");
  into.tm_year = in.number(4) - 1900;
  return in.is_at_end();
}

bool is_date(const std::tm& parts) noexcept {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int year = parts.tm_year + 1900;
  const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const int last_day =
      days[static_cast<std::size_t>(parts.tm_mon)] + (is_leap && parts.tm_mon == 1 ? 1 : 0);
  return parts.tm_mday >= 1 && parts.tm_mday <= last_day && parts.tm_hour <= 23 &&
         parts.tm_min <= 59 && parts.tm_sec <= 60;
}

}  // namespace

std::time_t current_second() noexcept {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec;
}

std::string format_date(std::time_t t) {
  std::tm parts = {};
  ::gmtime_r(&t, &parts);
  const auto two = [](int n) {
    return std::string{static_cast<char>('0' + n / 10), static_cast<char>('0' + n % 10)};
  };
  std::string text(short_days[static_cast<std::size_t>(parts.tm_wday)]);
  text.append(", ").append(two(parts.tm_mday)).append(" ");
  text.append(months[static_cast<std::size_t>(parts.tm_mon)]).append(" ");
  text.append(std::to_string(parts.tm_year + 1900)).append(" ").append(two(parts.tm_hour));
  text.append(":").append(two(parts.tm_min)).append(":").append(two(parts.tm_sec));
  return text.append(" GMT");
}

std::optional<std::time_t> parse_date(std::string_view text) {
  for (const auto& read : {read_usual, read_old, read_asctime}) {
    std::tm parts = {};
    if (read(text, parts) && is_date(parts)) return ::timegm(&parts);
  }
  return std::nullopt;
}

}  // namespace sley::http::detail
