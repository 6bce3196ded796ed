// SIGURG for real threads; for played ones see platform/simulated.
#include "platform/interrupt.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/former_handler.hpp"
#include "platform/sanitizer.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace sley::platform {

namespace {

interrupt_hook on_interrupt = nullptr;  // [const] once installed
former_handler former_of_interrupts;
detail::atomic<bool> urgent_data;  // relaxed: set before the program hears of it, in this thread

void handle_interrupt(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (info->si_code == SI_KERNEL) urgent_data.store_relaxed(true);
  const bool was_ours = on_interrupt();
  errno = saved;
  if (!was_ours) former_of_interrupts.call(signal, info, context);
}

void change_mask(int how) noexcept {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGURG);
  pthread_sigmask(how, &ours, nullptr);
}

}  // namespace

void install_interrupt_handler(interrupt_hook hook) noexcept {
  on_interrupt = hook;
  struct sigaction action = {};
  action.sa_sigaction = &handle_interrupt;
  // Deferred in the handler (no SA_NODEFER): each that came would take its part of the stack, and
  // the kernel delivers the next one before the handler's first instruction.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  former_of_interrupts.replace(SIGURG, action);
}

void allow_interrupts() noexcept { change_mask(SIG_UNBLOCK); }

interruptible_wait::interruptible_wait() noexcept {
  if (sanitizer_nests_signals) change_mask(SIG_UNBLOCK);
}
interruptible_wait::~interruptible_wait() {
  if (sanitizer_nests_signals) change_mask(SIG_BLOCK);
}

bool is_told_of_urgent_data() noexcept { return urgent_data.load_relaxed(); }

bool interrupt_thread(std::int32_t thread_id) noexcept {
  const int saved = errno;
  const bool sent = syscall(SYS_tgkill, getpid(), thread_id, SIGURG) == 0;
  errno = saved;
  return sent;
}

}  // namespace sley::platform
