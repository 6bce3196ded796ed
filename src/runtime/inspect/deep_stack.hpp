// The stack of the calling thread, however deep it is: what happened last, and how it began.
#pragma once

#include "platform/unwind/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::rt {

// Return addresses as in a stack_trace: the innermost and the outermost ones, as many as in Go's
// tracebacks.
class deep_stack {
 public:
  // Collects the calling thread's frames. No malloc; also in a signal handler.
  void collect() noexcept;
  // The same from a frame further out on.
  void collect_from(const platform::frame_registers& frame) noexcept;

  std::span<const std::uintptr_t> innermost() const noexcept { return {inner_, inner_count_}; }
  std::span<const std::uintptr_t> outermost() const noexcept { return {outer_, outer_count_}; }
  // The number of frames between the two.
  std::size_t elided() const noexcept { return elided_; }
  // The stack goes on beyond what was looked at: its outermost frames are not known.
  bool is_endless() const noexcept { return is_endless_; }

 private:
  static constexpr std::size_t most_of_each = 50;

  void add(std::uintptr_t frame) noexcept;

  std::uintptr_t inner_[most_of_each];
  std::uintptr_t outer_[most_of_each];
  std::size_t inner_count_ = 0;
  std::size_t outer_count_ = 0;
  std::size_t elided_ = 0;
  bool is_endless_ = false;
};

}  // namespace sley::rt
