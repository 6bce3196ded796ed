#include "count.hpp"

#include <array>

namespace wordcount {

namespace {

// What a byte does to the question "are we inside a word?". White space ends a word and a printable
// character begins one. Every other byte (NUL, control characters, 0x80 and above) leaves the
// answer as it is: it neither ends a word nor makes one. So "a\0b" is one word and "\0" is none.
struct effect {
  unsigned char keeps;   // 1 unless the byte is white space
  unsigned char begins;  // 1 if it is a printable character other than a space
};

constexpr std::array<effect, 256> effects = [] {
  std::array<effect, 256> table{};
  for (effect& e : table) e = {1, 0};
  for (unsigned c = 0x21; c <= 0x7e; ++c) table[c] = {1, 1};
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'}) {
    table[static_cast<unsigned char>(c)] = {0, 0};
  }
  return table;
}();

}  // namespace

// Without branches: what comes next in a text can't be predicted, and a mispredicted branch costs
// more than all of this.
void counter::add(std::span<const unsigned char> piece) noexcept {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
  unsigned in_word = in_word_;
  for (const unsigned char c : piece) {
    const unsigned before = in_word;
    in_word = (in_word & effects[c].keeps) | effects[c].begins;
    words += in_word & ~before;
    lines += (c == '\n');
  }
  in_word_ = in_word;
  counts_ += {lines, words, piece.size()};
}

}  // namespace wordcount
