// An unwinder: from a frame to that of its caller, by a program's unwind tables.
//
// libgcc's unwinder, which serves exceptions, loads whatever address it arrives at. So it can't
// look at a copy of a stack, at another process, or at a stack that may be damaged. This unwinder
// reads through stack_memory, and returns whatever the tables, the registers and the memory hold.
// It calls no malloc and takes no lock, so a signal handler may use it.
#pragma once

#include "platform/unwind/description.hpp"
#include "platform/unwind/frame.hpp"

#include <cstdint>

namespace sley::platform {

enum class step_result : std::uint8_t {
  done,
  outermost,       // the tables say that the frame has no caller
  no_description,  // the tables do not know the code
  damaged,         // they do not make sense, or lead to what can't be read or is not known
};

// Replaces a frame's registers by its caller's. They stay as they are if there is no caller.
step_result step(const frame_tables& tables, const stack_memory& memory,
                 frame_registers& frame) noexcept;

}  // namespace sley::platform
