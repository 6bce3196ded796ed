// The pieces of waiting on a thread of one's own; see turn.cpp.
#pragma once

#include "runtime/machine.hpp"

namespace sley::rt {

// From now on whoever picks g must wake m for it. Before g can be seen.
void bind_to_thread(machine* m, goroutine* g) noexcept;
// The thread sleeps until it is g's turn. Usually with a processor; without one, and to go on all
// the same, if release_interrupted() woke it.
void sleep_until_turn(machine* m, goroutine* g) noexcept;

}  // namespace sley::rt
