// The process of a server that tests start. If they end without stopping it, the kernel does that.
#pragma once

#include <sley/buffered.hpp>
#include <sley/os.hpp>

#include <csignal>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace sley_test {

class server_process {
 public:
  // Starts it, and returns what it has said when this was part of it. The command is one of
  // setpriv(1), whose `--pdeathsig` tells the kernel.
  std::string start(sley::os::command command, std::string_view ready) {
    command.program = "setpriv";
    command.output = sley::os::redirect::pipe();
    command.errors = sley::os::redirect::to_output();
    process_ = sley::os::process::start(command);
    sley::buffered_reader lines(process_.stdout_pipe());
    std::string said;
    while (said.find(ready) == std::string::npos) {
      const auto line = lines.read_line();
      if (!line) throw std::runtime_error("the server has not started:\n" + said);
      said.append(*line).append("\n");
    }
    return said;
  }
  void send(int signal) { process_.kill(signal); }
  // Returns when it has ended; nothing happens if it has not been started.
  void stop(int signal = SIGKILL) {
    std::error_code has_ended;
    process_.kill(signal, has_ended);
    process_.wait(has_ended);
    process_ = {};
  }

 private:
  sley::os::process process_;
};

}  // namespace sley_test
