#include "runtime/inspect/deep_stack.hpp"

#include "platform/unwind/own_process.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/stack_bounds.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

// The outermost frames so far are a ring.
void deep_stack::add(std::uintptr_t frame) noexcept {
  if (inner_count_ < most_of_each) {
    inner_[inner_count_++] = frame;
  } else if (outer_count_ < most_of_each) {
    outer_[outer_count_++] = frame;
  } else {
    outer_[elided_++ % most_of_each] = frame;
  }
}

void deep_stack::collect_from(const platform::frame_registers& frame) noexcept {
  constexpr std::size_t most_frames = 1'000'000;  // a stack of many gigabytes may have more
  *this = deep_stack();
  const machine* m = this_machine();
  const platform::own_stack stack = stack_of(m != nullptr ? m->g : nullptr);
  const platform::stack_memory memory = stack.memory();
  // A null pointer that was called is in no table.
  platform::stack_walk walk(frame.pc() != 0 ? frame : platform::caller_at_entry(frame, memory),
                            memory);
  std::size_t frames = 0;
  do {
    add(walk.return_address());
  } while (walk.next() && ++frames < most_frames);
  is_endless_ = frames == most_frames;
  if (is_endless_) {
    elided_ += std::exchange(outer_count_, 0);
  } else {
    std::rotate(outer_, outer_ + elided_ % most_of_each, outer_ + outer_count_);
  }
}

[[gnu::noinline]] void deep_stack::collect() noexcept { collect_from(platform::registers_here()); }

}  // namespace sley::rt
