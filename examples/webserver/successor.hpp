// A restart without a lost request: a new process takes the listener over while this one drains.
#pragma once

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <string>
#include <vector>

namespace webserver {

// What a process has from the one before it, or from a service manager.
class inheritance {
 public:
  // Takes it. At the beginning of main().
  inheritance();

  // The listener that was handed down, or else a new one.
  sley::net::tcp_listener listen(const std::string& address);
  // Tells the process before this one that it may end.
  void tell_it_serves();

 private:
  int listener_ = -1;
  int ready_ = -1;  // an end of a pipe, which the process before reads
};

// Starts the program again, hands the listener down, and returns true once the new process serves.
// False: it does not, and standard error says why; this process goes on.
bool start_successor(const std::vector<std::string>& command_line,
                     const sley::net::tcp_listener& listener);

}  // namespace webserver
