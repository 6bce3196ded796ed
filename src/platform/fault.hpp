// Faults and aborts: the runtime must learn of a fault in the guard of a goroutine's stack, and
// says in which goroutine a thread has failed.
#pragma once

#include "platform/unwind/frame.hpp"

#include <cstdint>
#include <string_view>

namespace sley::platform {

// Called in the signal handler with the address that faulted and the stack pointer at that moment;
// if the fault is the runtime's business, it does not return.
using fault_hook = void (*)(void* address, void* stack_pointer) noexcept;

// Takes SIGSEGV. The hook sees faults of instructions. A fault that it returns from, or a signal
// that a process has sent, goes on to the handler that was installed before, with that handler's
// flags and mask; else to the default action. Once, at boot.
void install_fault_handler(fault_hook hook) noexcept;

// Why a thread is about to end the process.
struct failure {
  std::string_view signal;     // its name
  bool has_address = false;    // SIGSEGV and SIGBUS, if the kernel tells
  std::uintptr_t address = 0;  // what the instruction has used
  frame_registers registers;   // where the thread is
};

// Called in the signal handler of a thread that is about to end the process because of a fault or
// abort(3). The process ends by the signal when they have returned, with the thread where it
// failed, which is what a core dump shows.
struct failure_hooks {
  // Waits while another thread ends the process. True: the failure is the process's first.
  bool (*begin)() noexcept;
  // Called if so. If it fails itself, or takes 10 s, the process ends at once.
  void (*report)(const failure& f) noexcept;
};

// Takes the signals of failures, except a signal that the program handles or ignores. One that a
// process has sent ends the process without a word. Once, at boot, after install_fault_handler().
// Not in a simulation, where one thread plays all others.
void install_failure_hooks(const failure_hooks& hooks) noexcept;

// Calls f(arg), during which signals come on the calling thread's present stack: for a thread that
// has gone from a signal handler to another stack, and will go back to the frames on the alternate
// one.
void call_without_alternate_stack(void (*f)(void*), void* arg) noexcept;

// Gives the calling thread an alternate signal stack, unless it has one: a fault in a stack's guard
// leaves no room on that stack. Returns the signal stack; null if the thread had one or there is no
// memory.
void* use_alternate_signal_stack() noexcept;
// Called before the thread's end, with the result of use_alternate_signal_stack(): the memory goes
// back.
void drop_alternate_signal_stack(void* ours) noexcept;

}  // namespace sley::platform
