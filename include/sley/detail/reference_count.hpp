// Finds the last user of something shared.
#pragma once

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::detail {

// Begins with one reference, or several. Any thread.
class reference_count {
 public:
  constexpr reference_count() noexcept = default;
  constexpr explicit reference_count(std::uint32_t count) noexcept : count_(count) {}

  // The caller holds one.
  void add() noexcept { count_.add_relaxed(1); }
  // True for the last one.
  [[nodiscard]] bool drop() noexcept {
    return count_.load_acquire("RF-1") == 1 || count_.sub_acq_rel(1, "RF-1") == 1;
  }
  // For a caller that holds two of them and gives up one.
  void drop_not_last() noexcept {
    if (count_.load_acquire("RF-1") == 2) {
      count_.store_relaxed(1);  // no other reference is left
    } else {
      count_.sub_acq_rel(1, "RF-1");
    }
  }

 private:
  // RF-1  Everything done through other references is over when the last one is dropped:
  //       sub_acq_rel in drop <-> the one that finds none left, or load_acquire there by the holder
  //       of the only one.
  atomic<std::uint32_t> count_{1};  // [atomic RF-1]
};

}  // namespace sley::detail
