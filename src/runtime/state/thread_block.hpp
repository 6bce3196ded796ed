// Goroutines that put their thread to sleep in the kernel without an announcement, and so lose
// their processor: figures of all of them, and the profile by place.
//
// sysmon begins such a block where it takes the processor (watchdog/thread_blocks.cpp). It ends
// when the goroutine next enters the runtime, or is stopped because it computes without a
// processor. Nothing tells earlier that the thread has woken. A goroutine that goes on into an
// announced call does not enter: sysmon ends the block when it sees the goroutine there.
#pragma once

#include "runtime/state/contention.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// Its rate is 1 while it is on. The amount of a total is the time from the first look at the
// sleeping thread to the end of the block, the part is the time until its processor was taken, and
// the kind is the number of the system call.
SLEY_HIDDEN extern contention_profile thread_block_profile;

// Kinds that are no system calls.
inline constexpr std::int64_t no_call = platform::sleeping_place::no_call;
inline constexpr std::int64_t unknown_call = -2;

void end_open_thread_block(machine* m) noexcept;

// The machine's goroutine has come back from where it has lost its processor. [inside, or with the
// border closed]
inline void end_thread_block(machine* m) noexcept {
  if (m->block.begin_ns != 0) end_open_thread_block(m);
}

}  // namespace sley::rt
