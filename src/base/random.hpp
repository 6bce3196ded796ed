// Random numbers for scheduling decisions: fast, seedable, not for secrets.
#pragma once

#include <cstdint>

namespace sley::base {

// Mixes a seed; consecutive inputs give unrelated outputs (splitmix64).
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// xorshift64*: one generator for each user, no sharing.
class random {
 public:
  constexpr explicit random(std::uint64_t seed = 1) noexcept : state_(mix(seed) | 1) {}

  constexpr std::uint32_t next() noexcept {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545f4914f6cdd1dU) >> 32);
  }

  // Uniform in [0, n), up to a bias of n / 2^32. n > 0.
  constexpr std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{next()} * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace sley::base
