// Text of unknown origin as a part of one printed line.
#pragma once

#include <sley/detail/language.hpp>

#include <cstddef>
#include <string_view>

namespace sley::detail {

// Calls put(piece) with all pieces of the text in order. Valid UTF-8 stays as it is, with these
// exceptions, which a terminal may obey or which look like something else:
//   a backslash                                        two of them
//   a zero byte, a line feed, a return, a tab          \0 \n \r \t
//   each byte of the other control characters (ASCII's and Latin-1's), of line separators, of marks
//   that turn the direction of writing, and each byte that is not part of valid UTF-8
//                                                      \x and two digits
// So different texts never look alike, and the result is one line of valid UTF-8. This allocates
// nothing.
// All lines and messages of the library show such texts in this way.
template <class Put>
void escape(std::string_view text, const Put& put);

// ---- how it is done ----

// Line separators (U+2028, U+2029) are among the marks around them.
inline bool is_obeyed(char32_t c) noexcept {
  const auto within = [c](char32_t first, char32_t last) { return first <= c && c <= last; };
  return c < 0x20 || within(0x7f, 0x9f) || c == 0x061c || within(0x200e, 0x200f) ||
         within(0x2028, 0x202e) || within(0x2066, 0x2069);
}

// The length of the character that the text begins with, if it is one of valid UTF-8 (RFC 3629) and
// stays as it is; else 0.
inline std::size_t plain_bytes(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return is_obeyed(at(0)) || at(0) == '\\' ? 0 : 1;
  const std::size_t size = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (at(0) < 0xc2 || at(0) > 0xf4 || text.size() < size) return 0;
  char32_t c = at(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    c = c << 6 | (at(i) & 0x3f);
  }
  const char32_t least = size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000;  // less: an overlong form
  const bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
  return c < least || c > 0x10ffff || is_surrogate || is_obeyed(c) ? 0 : size;
}

template <class Put>
void put_escaped(char c, const Put& put) {
  switch (c) {
    case '\\': return put(std::string_view("\\\\"));
    case '\0': return put(std::string_view("\\0"));
    case '\n': return put(std::string_view("\\n"));
    case '\r': return put(std::string_view("\\r"));
    case '\t': return put(std::string_view("\\t"));
    default: break;
  }
  constexpr const char* digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  const char coded[] = {'\\', 'x', digits[byte / 16], digits[byte % 16]};
  put(std::string_view(coded, sizeof coded));
}

template <class Put>
void escape(std::string_view text, const Put& put) {
  std::size_t plain = 0;  // the number of bytes in front that stay as they are
  while (plain < text.size()) {
    if (const std::size_t n = plain_bytes(text.substr(plain)); n != 0) {
      plain += n;
      continue;
    }
    if (plain != 0) put(text.substr(0, plain));
    put_escaped(text[plain], put);
    text.remove_prefix(plain + 1);
    plain = 0;
  }
  if (plain != 0) put(text);
}

}  // namespace sley::detail
