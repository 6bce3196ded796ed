// How many goroutines do what.
#pragma once

#include <cstdint>

namespace sley::rt {

// Goroutines that threads have in hand. The others wait, or are in a queue.
struct state_counts {
  std::uint64_t running = 0;   // on a processor, or about to get one back
  std::uint64_t in_calls = 0;  // in an announced call, or in one for which the processor was taken
};

// The threads go on meanwhile. Any thread, without entering.
state_counts count_by_state() noexcept;

}  // namespace sley::rt
