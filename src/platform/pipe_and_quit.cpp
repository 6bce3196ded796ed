// SIGPIPE and SIGQUIT.
#include "platform/interrupt.hpp"

#include "platform/former_handler.hpp"

#include <cerrno>
#include <csignal>

namespace sley::platform {

namespace {

void (*on_quit)() noexcept = nullptr;           // [const] once installed
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

void handle_unless_handled(int signal, void (*handler)(int)) noexcept {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  replace_default_action(signal, action);
}

}  // namespace

void install_pipe_handler(bool (*is_expected)() noexcept) noexcept {
  is_pipe_expected = is_expected;
  handle_unless_handled(SIGPIPE, &handle_pipe);
}

void install_quit_handler(void (*hook)() noexcept) noexcept {
  on_quit = hook;
  handle_unless_handled(SIGQUIT, &handle_quit);
}

}  // namespace sley::platform
