// Goroutines that cannot leave their thread: binding, and the thread's wait for its turn; see
// turn.cpp.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/wait_reason.hpp"

namespace sley::rt {

// From now on a machine that picks g must wake m for it. Called before g is visible in a queue.
void bind_to_thread(machine* m, goroutine* g) noexcept;
// The thread sleeps until it is g's turn. It has a processor afterwards, unless
// release_interrupted() woke it to go on without one.
void sleep_until_turn(machine* m, goroutine* g) noexcept;

// The running goroutine, which is still in no queue, is about to wait on its thread; for the
// measurement of waits. [inside]
void note_leave(machine* m, goroutine* g) noexcept;
// The running goroutine waits for its next turn on its own thread. [inside]
void wait_for_turn(machine* m) noexcept;
// The running goroutine parks on its own thread. [inside]
void park_thread(machine* m, wait reason, const void* object, after_switch_action action,
                 void* arg) noexcept;
// A machine has picked a goroutine whose own machine waits: hands its processor to that machine.
// [own stack]
void give_turn(machine* m, goroutine* g) noexcept;
// Lets goroutines that were interrupted in user code go on without a processor.
void release_interrupted() noexcept;

}  // namespace sley::rt
