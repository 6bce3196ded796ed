#include "platform/unwind/walk.hpp"

#include "platform/unwind/step.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

bool stack_walk::next() noexcept {
  frame_tables tables;
  if (code_->find_tables(code_->arg, place_in_code(), tables)) {
    const step_result result = step(tables, memory_, frame_);
    if (result != step_result::no_description) return result == step_result::done;
  }
  return leave_handler(memory_, frame_);
}

bool leads_to_bottom(stack_walk walk, address_range stack) noexcept {
  constexpr int most_frames = 1000;
  std::uint64_t inner_end = 0;  // of the frame before
  for (int frames = 0; frames < most_frames; ++frames) {
    const std::uint64_t end = walk.frame().get(column_sp);
    if (end <= inner_end || !stack.holds(end)) return false;
    if (walk.is_at_bottom()) return true;
    inner_end = end;
    if (!walk.next()) return false;
  }
  return false;
}

std::size_t collect_interrupted_frames(stack_walk walk, std::span<std::uintptr_t> frames) noexcept {
  std::size_t count = 0;
  do {
    if (walk.frame().is_interrupted) count = 0;
    if (count == frames.size()) break;
    frames[count++] = walk.return_address();
  } while (walk.next());
  return count;
}

std::size_t collect_frames(stack_walk walk, std::span<std::uintptr_t> frames) noexcept {
  std::size_t count = 0;
  do {
    if (count == frames.size()) break;
    frames[count++] = walk.return_address();
  } while (walk.next());
  return count;
}

}  // namespace sley::platform
