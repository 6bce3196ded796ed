// Goroutines that lose their processor because their thread sleeps unannounced; see
// state/thread_block.hpp.
#pragma once

#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// sysmon has just taken the machine's processor, and the border is still closed. `rest_from_ns`:
// when the thread was first seen to sleep. [sysmon]
void begin_thread_block(machine* m, std::int64_t rest_from_ns) noexcept;

// If the machine's block goes on and has lasted for long, the goroutine that reports such blocks
// gets to know. [sysmon]
void report_thread_block_if_long(const machine* m) noexcept;

// Ends the block of a goroutine that has gone on into an announced call without entering the
// runtime. [sysmon]
void end_thread_block_in_call(machine* m) noexcept;

}  // namespace sley::rt
