// Text of unknown origin as a part of one printed line.
#pragma once

#include <sley/detail/language.hpp>

#include <cstddef>
#include <string_view>

namespace sley::detail {

// Calls put(piece) with all pieces of the text in order. Each byte that a terminal may obey, and
// each that ends a line, is replaced by the like of "\x1b". These are the control characters of
// ASCII and Latin-1, and bytes that are not UTF-8. A backslash stays. Allocates nothing.
template <class Put>
void escape(std::string_view text, const Put& put);

// ---- how it is done ----

// The length of the UTF-8 sequence that the text begins with and that is harmless; 0 if it begins
// with something else. RFC 3629 in short: a first byte says how many follow.
inline std::size_t harmless_bytes(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (at(0) < 0x80) return at(0) >= 0x20 && at(0) != 0x7f ? 1 : 0;
  const std::size_t size = at(0) >= 0xf0 ? 4 : at(0) >= 0xe0 ? 3 : 2;
  if (at(0) < 0xc2 || at(0) > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_control = at(0) == 0xc2 && at(1) < 0xa0;
  const bool is_line_end = at(0) == 0xe2 && at(1) == 0x80 && (at(2) == 0xa8 || at(2) == 0xa9);
  return is_control || is_line_end ? 0 : size;
}

template <class Put>
void escape(std::string_view text, const Put& put) {
  std::size_t plain = 0;  // the number of bytes in front that stay as they are
  while (plain < text.size()) {
    if (const std::size_t n = harmless_bytes(text.substr(plain)); n != 0) {
      plain += n;
      continue;
    }
    if (plain != 0) put(text.substr(0, plain));
    const auto byte = static_cast<unsigned char>(text[plain]);
    constexpr const char* digits = "0123456789abcdef";
    const char coded[] = {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    put(std::string_view(coded, sizeof coded));
    text.remove_prefix(plain + 1);
    plain = 0;
  }
  if (plain != 0) put(text);
}

}  // namespace sley::detail
