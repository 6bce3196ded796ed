// What was there for a signal before our handler: a handler, called as the kernel would have called
// it, or the default action.
#pragma once

#include <sley/detail/atomic.hpp>

#include <csignal>
#include <cstdint>

namespace sley::platform {

// A signal that the program handles or ignores keeps the program's handler.
inline void replace_default_action(int signal, const struct sigaction& ours) noexcept {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  sigaction(signal, &ours, nullptr);
}

class former_handler {
 public:
  enum class outcome : std::uint8_t {
    called,
    ignored,  // it was SIG_IGN
    none,     // it was SIG_DFL, or is since it was called with SA_RESETHAND
  };

  // Puts ours in its place, only after the former one is known: ours may run at once. Calls that
  // the signal interrupts go on where they did before.
  void replace(int signal, struct sigaction ours) noexcept {
    sigaction(signal, nullptr, &action_);
    if (!is_function() ? action_.sa_handler == SIG_IGN : (action_.sa_flags & SA_RESTART) != 0) {
      ours.sa_flags |= SA_RESTART;
    }
    sigaction(signal, &ours, nullptr);
  }

  // Our handler must call this last, because signals that the former handler blocks while it runs
  // stay blocked until ours returns.
  outcome call(int signal, siginfo_t* info, void* context) noexcept {
    if (!is_function()) {
      return action_.sa_handler == SIG_IGN ? outcome::ignored : outcome::none;
    }
    bool expected = false;
    if ((static_cast<unsigned>(action_.sa_flags) & SA_RESETHAND) != 0 &&
        !is_spent_.cas_relaxed(expected, true)) {
      return outcome::none;
    }
    sigset_t blocked = action_.sa_mask;
    if ((action_.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    if ((action_.sa_flags & SA_SIGINFO) != 0) {
      action_.sa_sigaction(signal, info, context);
    } else {
      action_.sa_handler(signal);
    }
    return outcome::called;
  }

 private:
  bool is_function() const noexcept {
    return (action_.sa_flags & SA_SIGINFO) != 0 ||
           (action_.sa_handler != SIG_DFL && action_.sa_handler != SIG_IGN);
  }

  struct sigaction action_ = {};   // [const] once ours is installed
  detail::atomic<bool> is_spent_;  // relaxed: the first of several calls, whichever that is
};

}  // namespace sley::platform
