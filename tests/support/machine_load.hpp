// How busy other processes keep this machine: a delay that they cause is not the runtime's fault.
#pragma once

#include <chrono>

namespace sley_test {

// Looks from its construction on.
class machine_load {
 public:
  // The part of all CPUs, from 0 to 1, that others than this process have used since; 1 if it can't
  // be told.
  double of_others() const;

 private:
  struct figures {
    std::chrono::duration<double> busy;  // all CPUs
    std::chrono::duration<double> all;
    std::chrono::duration<double> own;
  };
  static figures read();

  figures before_ = read();
};

}  // namespace sley_test
