// Decides which goroutine runs next.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

struct pick {
  goroutine* g;         // null: the machine ends
  bool inherits_slice;  // the goroutine runs in the time slice of the one before it
};
pick find_runnable(machine* m) noexcept;  // [own stack] waits until there is a goroutine to run

}  // namespace sley::rt
