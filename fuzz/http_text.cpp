// The small texts of heads: dates, numbers, lists, weights of codings, names and values of fields.
// Run by `./dev fuzz http_text SECONDS`.
#include "expect.hpp"
#include "http/content_coding.hpp"
#include "http/text.hpp"
#include "http/websocket_frame.hpp"

#include <sley/http.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

namespace detail = sley::http::detail;
using sley_fuzz::expect;

// A date of a year with four digits is the same after it was written down.
void check_date(std::string_view text) {
  const auto date = detail::parse_date(text);
  if (!date) return;
  const std::string written = detail::format_date(*date);
  constexpr std::time_t least = -62'167'219'200;  // the year 0
  constexpr std::time_t most = 253'402'300'799;   // the end of 9999
  if (*date < least || *date > most) return;
  if (*date < -30'610'224'000) return;  // before the year 1000, which has fewer digits
  expect(written.size() == 29 && written.ends_with(" GMT"), "it has the usual form", written);
  expect(detail::parse_date(written) == date, "it is the same time", written);
}

void check_number(std::string_view text) {
  const auto n = detail::parse_decimal(text);
  if (!n) return;
  std::string written;
  detail::append_decimal(written, *n);
  expect(text.ends_with(written), "it is the same number", text);
  expect(text.find_first_not_of("0123456789") == std::string_view::npos, "only digits", text);
}

void check_list(std::string_view text) {
  std::size_t bytes = 0;
  detail::any_in_list(text, [&](std::string_view element) {
    expect(!element.empty() && element == detail::trim(element), "an element is trimmed", text);
    expect(element.find(',') == std::string_view::npos, "commas are between them", text);
    bytes += element.size();
    return false;
  });
  expect(bytes <= text.size(), "no more than there is");
}

void check_field(std::string_view name, std::string_view value) {
  sley::http::fields f;
  try {
    f.add(name, value);
  } catch (const std::invalid_argument&) {
    expect(!detail::is_token(name) || !detail::is_field_value(detail::trim(value)),
           "only what is none is refused", name);
    return;
  }
  expect(f.get(name) == detail::trim(value), "it is the value", value);
  expect(f.get(detail::to_small(name)) == f.get(name), "whatever its case", name);
  expect(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
         "nothing ends the line", value);
  f.set(f[0].name, f[0].value);
  expect(f.size() == 1 && f.get(name) == detail::trim(value), "set to itself", value);
}

void check_coding(std::string_view value) {
  if (!detail::is_field_value(detail::trim(value))) return;
  sley::http::fields whole, in_lines;
  whole.add("Accept-Encoding", value);
  detail::any_in_list(value, [&](std::string_view element) {
    in_lines.add("accept-encoding", element);
    return false;
  });
  expect(detail::prefers_gzip(whole) == detail::prefers_gzip(in_lines),
         "several lines are one list", value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_date(text);
  check_number(text);
  check_list(text);
  check_coding(text);
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) check_field(text.substr(0, colon), text.substr(colon + 1));
  const bool is_text = detail::is_utf8(text);
  expect(!is_text || detail::is_utf8(std::string(text).append(text)), "twice it is UTF-8 still");
  expect(sley::http::is_compressible(text) == sley::http::is_compressible(text), "the same again");
  sley::http::content_type_of(text);
  return 0;
}
