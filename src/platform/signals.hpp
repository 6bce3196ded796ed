// The actions of signals that the program may handle. One thread at a time calls this.
#pragma once

namespace sley::platform {

// Signals have the numbers 1 to this.
inline constexpr int last_signal = 64;

// False: the system or the runtime keeps it, or the program's instructions raise it.
bool may_handle_signal(int signal) noexcept;

// From now on `hook(signal)` is called, on any thread, on its alternate stack if it has one: it may
// do no more than a signal handler. errno is kept; system calls go on where the kernel can do that
// (SA_RESTART).
void handle_signal(int signal, void (*hook)(int) noexcept) noexcept;
void ignore_signal(int signal) noexcept;
// Restores the action that the signal had before the first such call.
void restore_signal(int signal) noexcept;

}  // namespace sley::platform
