// Walks over all of n things from a random start with a random step that has no factor in common
// with n, so that each is visited once (Go's randomOrder).
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace sley::base {

class visit_order {
 public:
  static constexpr std::uint32_t max_count = 256;

  void reset(std::uint32_t count) noexcept {
    count_ = count;
    step_count_ = 0;
    for (std::uint32_t step = 1; step <= count; ++step) {
      if (std::gcd(step, count) == 1) steps_[step_count_++] = static_cast<std::uint16_t>(step);
    }
  }

  std::uint32_t count() const noexcept { return count_; }
  std::uint32_t step_count() const noexcept { return step_count_; }

  class walk {
   public:
    bool is_done() const noexcept { return visited_ == count_; }
    std::uint32_t position() const noexcept { return position_; }
    void next() noexcept {
      ++visited_;
      position_ = (position_ + step_) % count_;
    }

   private:
    friend class visit_order;
    walk(std::uint32_t count, std::uint32_t start, std::uint32_t step) noexcept
        : count_(count), position_(start), step_(step) {}
    std::uint32_t count_;
    std::uint32_t visited_ = 0;
    std::uint32_t position_;
    std::uint32_t step_;
  };

  // One random number gives both the start and the step. Requires a count of at least 1.
  walk start(std::uint32_t random) const noexcept {
    return walk(count_, random % count_, steps_[(random / count_) % step_count_]);
  }

 private:
  std::uint32_t count_ = 0;
  std::uint32_t step_count_ = 0;
  std::array<std::uint16_t, max_count> steps_{};
};

}  // namespace sley::base
