// Text that must fit into a place of fixed size.
#pragma once

#include <cstddef>
#include <string_view>

namespace sley::base {

// The number of bytes to keep: `most`, or a few less where a character of UTF-8 would be cut. Of
// text in another encoding it keeps as much.
inline std::size_t bytes_kept(std::string_view text, std::size_t most) noexcept {
  constexpr std::size_t longest = 4;  // a character
  const auto continues = [text](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80;
  };
  if (text.size() <= most) return text.size();
  std::size_t kept = most;
  while (kept > 0 && most - kept < longest - 1 && continues(kept)) --kept;
  return continues(kept) ? most : kept;
}

}  // namespace sley::base
