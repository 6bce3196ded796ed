// What signals do that the program asks for: those that it may handle. Callers take turns.
#pragma once

namespace sley::platform {

// The signals that can be asked for have the numbers 1 to this.
inline constexpr int last_signal = 64;

// False: the system keeps it for itself, or the program itself raises it by its instructions.
bool may_handle_signal(int signal) noexcept;

// From now on `hook(signal)` is called, on any thread, on its alternate stack if it has one: it is
// to do no more than a signal handler may. errno is kept; system calls go on where the kernel can
// do that (SA_RESTART).
void handle_signal(int signal, void (*hook)(int) noexcept) noexcept;
void ignore_signal(int signal) noexcept;
// As it was before the first of those.
void restore_signal(int signal) noexcept;

}  // namespace sley::platform
