// Texts on their way to functions of C, which take what is before the first zero byte for the
// whole: "public.txt\0.html" would pass a check of its ending and open public.txt. So a text with
// such a byte inside is refused before it goes to the system, to libc or to another library.
#pragma once

#include <sley/detail/config.hpp>

#include <string>
#include <string_view>
#include <system_error>

namespace sley::detail {

// True for a text with a zero byte inside; `error` is std::errc::invalid_argument then, and
// otherwise untouched. Names of abstract Unix sockets need no such check: they have a length.
inline bool has_zero_byte(std::string_view text, std::error_code& error) noexcept {
  const bool has_one = text.find('\0') != std::string_view::npos;
  if (has_one) error = std::make_error_code(std::errc::invalid_argument);
  return has_one;
}

// As messages show a text, which may come from a stranger: `"text"` on one line, escaped as
// <sley/detail/escape.hpp> says. The place of the first zero byte is told behind the text. Of a
// long text its first 200 bytes are shown, no part of a character at their end, and its length.
SLEY_API std::string quoted(std::string_view text);

// The exception of an operation on something that has a name: `operation "object": reason`.
[[nodiscard]] SLEY_API std::system_error failed(const std::error_code& error, const char* operation,
                                                std::string_view object);

}  // namespace sley::detail
