// Queues a goroutine that may run. Whatever queues one also asks whether a machine must be woken.
//
// Allowed callers, in all headers of the runtime: [user] user code, the function enters the runtime
// itself; [inside] between enter() and leave(); [own stack] a machine on its own stack. All are
// noexcept unless they say otherwise, and none calls malloc.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

namespace sley::rt {

// Makes a record in status idle, with its task and id, a runnable goroutine. [inside]
void start(machine* m, goroutine* g) noexcept;
// Queues a runnable goroutine at the end of p's queue. [inside] by the holder of p
void run_after_those_here(processor* p, goroutine* g) noexcept;
// Queues a runnable goroutine at the end of the global queue. [inside, or without a machine]
void run_last(goroutine* g) noexcept;

// A waiting goroutine is runnable. [inside] by the one waker that claimed it
void ready(goroutine* g) noexcept;
// Several goroutines, in their order. [inside, or sysmon]
void ready_all(goroutine_list&& woken) noexcept;
// As ready_all(), for a machine that has nothing to run: returns the first goroutine, for which no
// other machine is woken, or null. [inside]
goroutine* ready_all_to_run_first(goroutine_list&& woken) noexcept;
// As ready(), for a thread without a machine.
void ready_from_outside(goroutine* g) noexcept;

}  // namespace sley::rt
