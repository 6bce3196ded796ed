// Binding a goroutine to its thread, and the thread's wait for its turn; see turn.cpp.
#pragma once

#include "runtime/machine.hpp"

namespace sley::rt {

// From now on a machine that picks g must wake m for it. Called before g is visible in a queue.
void bind_to_thread(machine* m, goroutine* g) noexcept;
// The thread sleeps until it is g's turn. It has a processor afterwards, unless
// release_interrupted() woke it to go on without one.
void sleep_until_turn(machine* m, goroutine* g) noexcept;

}  // namespace sley::rt
