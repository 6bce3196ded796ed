// Interrupting a thread of ours: SIGURG, as in Go, because hardly any program uses it and its
// default action is nothing.
#pragma once

#include <cstdint>

namespace sley::platform {

// Called on the interrupted thread, in the signal handler, on its alternate stack, with interrupts
// deferred; it may wait.
// False: the signal was none of ours, and goes on to the earlier handler of SIGURG.
using interrupt_hook = bool (*)() noexcept;

// Takes SIGURG. System calls that the signal interrupts go on after it, where the kernel can do
// that (SA_RESTART). errno is kept. Once, at boot.
void install_interrupt_handler(interrupt_hook hook) noexcept;

// The calling thread can be interrupted, whatever signals it has inherited as blocked.
void allow_interrupts() noexcept;

// While the hook waits: the thread can be interrupted again. Not under the thread sanitizer, see
// sanitizer_nests_signals.
class interruptible_wait {
 public:
  interruptible_wait() noexcept;
  ~interruptible_wait();
  interruptible_wait(const interruptible_wait&) = delete;
  interruptible_wait& operator=(const interruptible_wait&) = delete;
};

// Has the kernel ever sent SIGURG by itself: to the owner (F_SETOWN) of a socket with urgent data?
bool is_told_of_urgent_data() noexcept;

// Interrupts a thread of this process. False if it can't be.
bool interrupt_thread(std::int32_t thread_id) noexcept;

// SIGPIPE, if the program leaves it at its default, ends the process unless `is_expected()`, which
// is asked on the thread that has written. Once.
void install_pipe_handler(bool (*is_expected)() noexcept) noexcept;

// The same for SIGQUIT, unless the program handles or ignores that already: `hook` is called on any
// thread, and must be quick.
void install_quit_handler(void (*hook)() noexcept) noexcept;

}  // namespace sley::platform
