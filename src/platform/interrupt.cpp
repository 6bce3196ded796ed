#include "platform/interrupt.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace sley::platform {

namespace {

interrupt_hook on_interrupt = nullptr;  // [const] once installed
void (*on_quit)() noexcept = nullptr;   // [const] once installed
struct sigaction previous = {};         // [const] once installed

void handle_interrupt(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const bool was_ours = on_interrupt();
  errno = saved;
  if (was_ours) return;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

bool (*is_pipe_expected)() noexcept = nullptr;  // [const] once installed

void handle_pipe(int signal) {
  const int saved = errno;
  if (!is_pipe_expected()) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // when this returns
  }
  errno = saved;
}

void handle_quit(int) {
  const int saved = errno;
  on_quit();
  errno = saved;
}

}  // namespace

void install_interrupt_handler(interrupt_hook hook) noexcept {
  on_interrupt = hook;
  struct sigaction action = {};
  sigaction(SIGURG, nullptr, &previous);  // before ours can run
  action.sa_sigaction = &handle_interrupt;
  // Not deferred: who waits in the handler can still be asked for its stack.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGURG, &action, nullptr);
}

void allow_interrupts() noexcept {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGURG);
  pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
}

bool interrupt_thread(std::int32_t thread_id) noexcept {
  const int saved = errno;
  const bool sent = syscall(SYS_tgkill, getpid(), thread_id, SIGURG) == 0;
  errno = saved;
  return sent;
}

void install_pipe_handler(bool (*is_expected)() noexcept) noexcept {
  struct sigaction now = {};
  sigaction(SIGPIPE, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  is_pipe_expected = is_expected;
  struct sigaction action = {};
  action.sa_handler = &handle_pipe;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGPIPE, &action, nullptr);
}

void install_quit_handler(void (*hook)() noexcept) noexcept {
  struct sigaction now = {};
  sigaction(SIGQUIT, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  on_quit = hook;
  struct sigaction action = {};
  action.sa_handler = &handle_quit;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGQUIT, &action, nullptr);
}

}  // namespace sley::platform
