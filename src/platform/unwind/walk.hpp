// From frame to frame of a stack: of this process, of another one, or of a core.
#pragma once

#include "platform/unwind/cursor.hpp"
#include "platform/unwind/description.hpp"
#include "platform/unwind/frame.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

// The code of the process that a stack is of.
struct process_code {
  // Finds the tables of the program or library that has the address in its memory. False: none has
  // it, as for code that the program has generated.
  bool (*find_tables)(const void* arg, std::uint64_t address, frame_tables& tables) noexcept;
  // The bytes of a function whose tables have been found. Empty: they can't be read.
  std::span<const std::uint8_t> (*bytes_of)(const void* arg, address_range function) noexcept;
  const void* arg;
  // The return address in the frame below every frame of a goroutine's stack.
  const void* bottom_return;

  bool find_description(std::uint64_t pc, frame_description& found) const noexcept {
    frame_tables tables;
    return find_tables(arg, pc, tables) && platform::find_description(tables, pc, found);
  }
};

// This process's.
extern const process_code own_code;

// The frames of a stack, one after the other. The walk refers to the code.
class stack_walk {
 public:
  stack_walk(const frame_registers& from, const stack_memory& memory,
             const process_code& code = own_code) noexcept
      : frame_(from), memory_(memory), code_(&code) {}

  const frame_registers& frame() const noexcept { return frame_; }
  // The frame's place as a return address. Where the frame was interrupted, that is one byte behind
  // the instruction that has not run.
  std::uintptr_t return_address() const noexcept {
    return frame_.pc() + (frame_.is_interrupted ? 1 : 0);
  }
  // An address of the code that the frame is in.
  std::uint64_t place_in_code() const noexcept { return return_address() - 1; }
  // Is it the frame below every frame of a goroutine's stack?
  bool is_at_bottom() const noexcept {
    return frame_.pc() == reinterpret_cast<std::uint64_t>(code_->bottom_return);
  }
  // Goes to the caller's frame. False: there is none, or it can't be found.
  bool next() noexcept;
  // From now on the frame has this frame pointer.
  void set_frame_pointer(std::uint64_t address) noexcept {
    frame_.set(column_frame_pointer, address);
  }

 private:
  frame_registers frame_;
  stack_memory memory_;
  const process_code* code_;
};

// Goes from a signal handler's return, which is in no table, to the interrupted frame. False: the
// frame is not at such a place, or the tables have it on this CPU.
bool leave_handler(const stack_memory& memory, frame_registers& frame) noexcept;

// Do the walk's frames lead to the bottom of a goroutine's stack, each further on than the one
// before?
bool leads_to_bottom(stack_walk walk, address_range stack) noexcept;

// Writes the walk's return addresses, innermost first, and returns their number.
std::size_t collect_frames(stack_walk walk, std::span<std::uintptr_t> frames) noexcept;
// The same in a signal handler, without the handler's frames. In other code as collect_frames().
std::size_t collect_interrupted_frames(stack_walk walk, std::span<std::uintptr_t> frames) noexcept;

}  // namespace sley::platform
