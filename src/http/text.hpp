// Characters and dates as HTTP has them. RFC 9110, 5.6.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace sley::http::detail {

bool is_token(std::string_view text) noexcept;
// No control characters but tabs.
bool is_field_value(std::string_view text) noexcept;
std::string_view trim(std::string_view text) noexcept;  // of spaces and tabs

constexpr char small(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string to_small(std::string_view text);
int hex_value(char c) noexcept;  // -1: no such digit

// Only digits, and it fits.
std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept;
void append_decimal(std::string& to, std::uint64_t n);
void append_hex(std::string& to, std::uint64_t n);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string format_date(std::time_t t);
// The second of now. Not by time(2), which goes by the last tick of the kernel and may be a second
// behind the time of a file that was just written.
std::time_t current_second() noexcept;
// All three forms of RFC 9110, 5.6.7.
std::optional<std::time_t> parse_date(std::string_view text);

// Calls f with each element of a list "a, b;q=1, c", trimmed, until it returns true.
template <class F>
bool any_in_list(std::string_view list, const F& f) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view element = trim(list.substr(0, comma));
    if (!element.empty() && f(element)) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace sley::http::detail
