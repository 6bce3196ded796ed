// Text of unknown origin in JSON.
#pragma once

#include <sley/detail/escape.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace sley::detail {

// Appends the text as a string of JSON (RFC 8259), with its quotes. What a terminal may obey is
// coded, and a byte that is not part of valid UTF-8 becomes U+FFFD. See escape() for both.
inline void append_json_text(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t plain = plain_bytes(text);
    if (c == '"' || c == '\\') {
      to += {'\\', text.front()};
    } else if (plain != 0) {
      to.append(text.substr(0, plain));
    } else {
      char coded[8];
      std::snprintf(coded, sizeof coded, "\\u%04x", c < 0x80 ? unsigned{c} : 0xfffdU);
      to += coded;
    }
    text.remove_prefix(plain == 0 ? 1 : plain);
  }
  to += '"';
}

}  // namespace sley::detail
