// Lines, words and bytes, exactly as GNU wc 9.1 counts them in the C locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wordcount {

struct counts {
  std::uint64_t lines = 0;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;

  counts& operator+=(const counts& other) noexcept {
    lines += other.lines;
    words += other.words;
    bytes += other.bytes;
    return *this;
  }
};

// Counts a file given in pieces. A word may go on from one piece into the next.
class counter {
 public:
  void add(std::span<const unsigned char> piece) noexcept;
  // The figures of all pieces so far.
  const counts& result() const noexcept { return counts_; }

 private:
  counts counts_;
  unsigned in_word_ = 0;  // 1 while inside a word
};

}  // namespace wordcount
