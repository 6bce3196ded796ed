#include "platform/signals.hpp"

#include "base/published.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

namespace sley::platform {

namespace {

struct signal_place {
  bool is_changed = false;  // `before` is its original action
  struct sigaction before = {};
};
signal_place places[last_signal + 1];

// The hook is published before the first handler is installed. That orders it, but not in the
// language's terms: PB-1.
base::published<void (*)(int) noexcept> on_signal;

void handle(int signal) {
  const int saved = errno;
  on_signal.read()(signal);
  errno = saved;
}

void change(int signal, void (*handler)(int)) noexcept {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  struct sigaction before = {};
  sigaction(signal, &action, &before);
  signal_place& place = places[signal];
  if (!std::exchange(place.is_changed, true)) place.before = before;
}

}  // namespace

bool may_handle_signal(int signal) noexcept {
  switch (signal) {
    case SIGKILL:
    case SIGSTOP:
    case SIGURG:
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP: return false;
    // The signals between SIGSYS and SIGRTMIN belong to the thread library.
    default:
      return (signal >= 1 && signal <= SIGSYS) || (signal >= SIGRTMIN && signal <= last_signal);
  }
}

void handle_signal(int signal, void (*hook)(int) noexcept) noexcept {
  on_signal.publish(hook);
  change(signal, &handle);
}

void ignore_signal(int signal) noexcept { change(signal, SIG_IGN); }

void restore_signal(int signal) noexcept {
  signal_place& place = places[signal];
  if (std::exchange(place.is_changed, false)) sigaction(signal, &place.before, nullptr);
}

}  // namespace sley::platform
