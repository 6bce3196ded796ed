// A process before it runs.
#pragma once

#include <sley/os.hpp>

#include "io/plain_fd.hpp"
#include "platform/start_child.hpp"

#include <array>
#include <string>
#include <system_error>
#include <vector>

namespace sley::os {

// All that the system needs to know, and what is left to us of it.
struct launch {
  // invalid_argument: a text has a zero byte inside. Throws std::logic_error for redirects that
  // make no sense, and std::invalid_argument for names that can't be handed down. The command must
  // outlive this.
  void prepare(const command& what, std::error_code& error);
  // On a thread that lives as long as the process, because a program may ask for a signal when its
  // parent ends, which is a thread to the kernel (PR_SET_PDEATHSIG). A goroutine that is locked to
  // its thread, and a foreign thread, start it themselves: what they have set for their thread
  // counts. Parks. Several are started one after the other; the context ends the wait for the turn.
  void start(const context& ctx, std::error_code& error);

  std::array<file, 3> ours;  // ends of pipes
  platform::child_process started;

 private:
  void direct(int stream, redirect where, std::error_code& error);
  void connect(int stream, std::error_code& error);
  void find(const std::string& program);
  void hand_down(const command& what);

  platform::child_plan plan_ = {};
  std::array<io::plain_fd, 3> theirs_;  // ends of pipes
  std::vector<std::string> places_;     // where the program may be
  std::vector<char*> programs_, arguments_, environment_;
  std::vector<int> handed_down_;
  std::string child_number_, count_, names_;  // variables that tell of them
};

// What start() and run() throw: it names the program, and the text that has a zero byte inside if
// that is why.
std::system_error start_failed(const std::error_code& error, const char* operation,
                               const command& what);
// What the functions that wait throw.
std::system_error wait_failed(const std::error_code& error, int pid);

}  // namespace sley::os
