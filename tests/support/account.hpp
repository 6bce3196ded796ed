// Accounts of sent and of received tokens: two accounts of the same tokens are equal.
#pragma once

#include <cstdint>

namespace sley_test {

// Tokens are numbers that no other goroutine sends. Their number, their sum and the sum of their
// hashes show whether one is missing, doubled or damaged.
struct account {
  std::uint64_t tokens = 0;
  std::uint64_t sum = 0;
  std::uint64_t hashes = 0;

  void add(std::uint64_t token) {
    ++tokens;
    sum += token;
    hashes += (token ^ (token >> 29)) * 0x9e3779b97f4a7c15u;
  }
  void add(const account& other) {
    tokens += other.tokens;
    sum += other.sum;
    hashes += other.hashes;
  }
  bool operator==(const account&) const = default;
};

}  // namespace sley_test
