// Decides which goroutine runs next.
#pragma once

#include "parts/stack_pool.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

struct pick {
  goroutine* g;         // null: the machine ends
  bool inherits_slice;  // the goroutine runs in the time slice of the one before it
};
pick find_runnable(machine* m) noexcept;  // [own stack] waits until there is a goroutine to run
// The fast path. If the goroutine is null, the local queues are empty (`is_idle`) or something
// needs attention; the caller must take the slow path. A goroutine that has not begun gets `warm`,
// if it is given and of the right size, instead of a stack from the pool. [inside]
struct local_pick {
  goroutine* g;
  bool is_idle;
};
local_pick next_local(machine* m, parts::stack* warm = nullptr) noexcept;

}  // namespace sley::rt
