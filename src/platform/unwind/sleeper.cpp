#include "platform/unwind/sleeper.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

namespace {

class sleepers_walk {
 public:
  sleepers_walk(const sleeping_place& at, address_range stack, const stack_memory& memory,
                const process_code& code) noexcept
      : is_in_call_(at.call != sleeping_place::no_call),
        stack_(stack),
        code_(code),
        walk_(registers_at(at), memory, code) {}

  const stack_walk& at() const noexcept { return walk_; }
  bool next() noexcept { return walk_.next() || (find_frame_pointer() && walk_.next()); }

 private:
  static frame_registers registers_at(const sleeping_place& at) noexcept {
    frame_registers r;
    r.set(column_pc, at.pc);
    r.set(column_sp, at.sp);
    r.is_interrupted = true;
    return r;
  }

  // Then the walk goes on. The record is where it is in calls: a thread that sleeps elsewhere, as
  // for a page of a file, may be in the middle of making its frame.
  bool find_frame_pointer() noexcept {
    const frame_registers& frame = walk_.frame();
    frame_description function;
    if (frame.knows(column_frame_pointer) || (frame.is_interrupted && !is_in_call_) ||
        !code_.find_description(walk_.place_in_code(), function)) {
      return false;
    }
    const auto above =
        record_above_sp(code_.bytes_of(code_.arg, function.code), frame.pc() - function.code.begin);
    if (!above) return false;
    stack_walk with_record = walk_;
    with_record.set_frame_pointer(frame.get(column_sp) + *above);
    if (!leads_to_bottom(with_record, stack_)) return false;
    walk_ = with_record;
    return true;
  }

  bool is_in_call_;
  address_range stack_;
  const process_code& code_;
  stack_walk walk_;
};

}  // namespace

std::size_t collect_sleepers_frames(const sleeping_place& at, address_range stack,
                                    const stack_memory& memory, std::span<std::uintptr_t> frames,
                                    const process_code& code) noexcept {
  sleepers_walk walk(at, stack, memory, code);
  std::size_t count = 0;
  do {
    if (count == frames.size()) return count;
    frames[count++] = walk.at().return_address();
  } while (walk.next());
  return walk.at().is_at_bottom() ? count : 0;
}

}  // namespace sley::platform
