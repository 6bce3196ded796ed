// The handler of a signal that somebody installed before us.
#pragma once

#include <csignal>

namespace sley::platform {

class former_handler {
 public:
  // Puts ours in its place, only after the former one is known: ours may run at once.
  void replace(int signal, const struct sigaction& ours) noexcept {
    sigaction(signal, nullptr, &action_);
    sigaction(signal, &ours, nullptr);
  }

  // False if there was none.
  bool call(int signal, siginfo_t* info, void* context) const noexcept {
    if ((action_.sa_flags & SA_SIGINFO) != 0) {
      action_.sa_sigaction(signal, info, context);
    } else if (action_.sa_handler != SIG_DFL && action_.sa_handler != SIG_IGN) {
      action_.sa_handler(signal);
    } else {
      return false;
    }
    return true;
  }

 private:
  struct sigaction action_ = {};  // [const] once ours is installed
};

}  // namespace sley::platform
