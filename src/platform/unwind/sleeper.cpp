#include "platform/unwind/sleeper.hpp"

#include "platform/context.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

namespace {

bool find_function(std::uint64_t pc, frame_description& function) noexcept {
  frame_tables tables;
  return find_own_tables(pc, tables) && find_description(tables, pc, function);
}

class sleepers_walk {
 public:
  sleepers_walk(const frame_registers& from, const own_stack& stack) noexcept
      : stack_(stack), walk_(from, stack.memory()) {}

  std::uintptr_t return_address() const noexcept { return walk_.return_address(); }
  bool next() noexcept { return walk_.next() || (find_frame_pointer() && walk_.next()); }
  bool is_at_bottom() const noexcept { return is_of_bottom_frame(walk_.frame().pc()); }

 private:
  // Then the walk goes on.
  bool find_frame_pointer() noexcept {
    frame_registers frame = walk_.frame();
    const std::uint64_t pc = frame.pc() - (frame.is_interrupted ? 0 : 1);
    frame_description function;
    if (frame.knows(column_frame_pointer) || !find_function(pc, function)) return false;
    const std::uint64_t begin = function.code.begin;
    const auto above =
        record_above_sp({reinterpret_cast<const std::uint8_t*>(begin), function.code.end - begin},
                        frame.pc() - begin);
    if (!above) return false;
    frame.set(column_frame_pointer, frame.get(column_sp) + *above);
    const stack_walk with_record(frame, stack_.memory());
    if (!leads_to_bottom(with_record, stack_)) return false;
    walk_ = with_record;
    return true;
  }

  const own_stack& stack_;
  stack_walk walk_;
};

}  // namespace

std::size_t collect_sleepers_frames(const sleeping_place& at, const own_stack& stack,
                                    std::span<std::uintptr_t> frames) noexcept {
  frame_registers from;
  from.set(column_pc, at.pc);
  from.set(column_sp, at.sp);
  from.is_interrupted = true;
  sleepers_walk walk(from, stack);
  std::size_t count = 0;
  do {
    if (count == frames.size()) return count;
    frames[count++] = walk.return_address();
  } while (walk.next());
  return walk.is_at_bottom() ? count : 0;
}

}  // namespace sley::platform
