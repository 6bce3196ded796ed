#include "report.hpp"

#include <cstddef>
#include <string_view>

namespace wordcount {

namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// How many bytes the UTF-8 character at the front takes; 0 if there is none, or one that should not
// reach a terminal. Overlong forms, surrogates and values above U+10FFFF are not UTF-8.
std::size_t character_length(std::string_view s) {
  const auto byte = [s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || s.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(s[i])) return 0;
  }
  const unsigned char second = byte(1);
  const bool control = first == 0xc2 && second < 0xa0;  // U+0080 to U+009F
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool too_high = first == 0xf4 && second >= 0x90;
  return control || overlong || surrogate || too_high ? 0 : length;
}

std::string escaped(char c) {
  if (c == '\\') return "\\\\";
  if (c == '\n') return "\\n";
  constexpr std::string_view digits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(c);
  return {'\\', 'x', digits[value >> 4], digits[value & 15]};
}

}  // namespace

std::string printable(const std::string& name) {
  std::string result;
  std::string_view rest = name;
  while (!rest.empty()) {
    const std::size_t length = rest.front() == '\\' ? 0 : character_length(rest);
    if (length == 0) {
      result += escaped(rest.front());
      rest.remove_prefix(1);
    } else {
      result += rest.substr(0, length);
      rest.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace wordcount
