// Memory faults: the runtime must learn of a fault in the guard of a goroutine's stack.
#pragma once

namespace sley::platform {

// Called in the signal handler with the address that faulted and the stack pointer at that moment;
// if the fault is the runtime's business, it does not return.
using fault_hook = void (*)(void* address, void* stack_pointer) noexcept;

// Takes SIGSEGV. The hook sees faults of instructions. A fault that it returns from, or a signal
// that a process has sent, goes on to the handler that was installed before, with that handler's
// flags and mask; else to the default action. Once, at boot.
void install_fault_handler(fault_hook hook) noexcept;

// From now on a thread that is about to end the process because it has failed, by abort(3) or a
// fault, calls `wait` first, in the signal handler. The process ends when that returns. A signal
// that a process has sent ends it at once, and one that the program handles or ignores is not
// touched. Async-signal-safe; any number of times, with the same function. Not in a simulation,
// where one thread plays all others.
void delay_failures(void (*wait)() noexcept) noexcept;

// Gives the calling thread an alternate signal stack, unless it has one: a fault in a stack's guard
// leaves no room on that stack. Returns the signal stack; null if the thread had one or there is no
// memory.
void* use_alternate_signal_stack() noexcept;
// Called before the thread's end, with the result of use_alternate_signal_stack(): the memory goes
// back.
void drop_alternate_signal_stack(void* ours) noexcept;

}  // namespace sley::platform
