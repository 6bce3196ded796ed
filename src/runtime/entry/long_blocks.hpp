// Threads that have slept unannounced for long, for the one goroutine that reports them.
#pragma once

#include "runtime/state/thread_block.hpp"

#include <cstdint>

namespace sley::rt {

// Blocks of this duration are reported from now on, each place anew; 0: none. [user]
void report_long_blocks(std::int64_t threshold_ns) noexcept;

// Parks the calling goroutine until there is one. False: none are reported any more. [user]
bool next_long_block(long_block& to) noexcept;

}  // namespace sley::rt
