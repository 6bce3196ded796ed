#include "successor.hpp"

#include <sley/context.hpp>
#include <sley/service.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <stdlib.h>

namespace webserver {

namespace {

using namespace std::chrono_literals;

constexpr const char* listener_name = "http";  // FileDescriptorName= of the unit has it as well
constexpr const char* ready_name = "ready";
constexpr auto start_limit = 60s;

// Whether the process says that it serves, before it ends or the time is over.
bool says_it_serves(const sley::os::file& from) {
  const auto [ctx, cancel] = sley::with_timeout({}, start_limit);
  std::array<std::byte, 1> word;
  std::error_code error;
  const bool has_come = from.read_some(word, ctx, error) == 1;
  cancel();
  return has_come;
}

}  // namespace

inheritance::inheritance() {
  for (const auto& [name, fd] : sley::service::inherited()) {
    if (name == listener_name) listener_ = fd;
    if (name == ready_name) ready_ = fd;
  }
  // The manager's watchdog was for the process before, and is for this one from now on.
  if (ready_ >= 0) ::unsetenv("WATCHDOG_PID");
}

sley::net::tcp_listener inheritance::listen(const std::string& address) {
  if (listener_ < 0) return sley::net::tcp_listener::listen(address);
  return sley::net::tcp_listener(std::exchange(listener_, -1));
}

void inheritance::tell_it_serves() {
  if (ready_ >= 0) sley::os::file(std::exchange(ready_, -1)).write_all("\n");
}

bool start_successor(const std::vector<std::string>& command_line,
                     const sley::net::tcp_listener& listener) {
  std::error_code error, ignored;
  sley::os::pipe_ends ready = sley::os::pipe(error);
  sley::os::process next;
  if (!error) {
    next = sley::os::process::start({.program = command_line.front(),
                                     .arguments = {command_line.begin() + 1, command_line.end()},
                                     .hand_down = {{listener_name, listener.native_handle()},
                                                   {ready_name, ready.writer.native_handle()}}},
                                    error);
  }
  ready.writer.close(ignored);  // the new process has the other one, whose end is its own
  if (!error && says_it_serves(ready.reader)) {
    sley::service::notify("MAINPID=" + std::to_string(next.pid()), ignored);
    return true;
  }
  std::fprintf(stderr, "webserver: the new process does not serve: %s\n",
               error ? error.message().c_str() : "it has ended, or takes too long");
  next.kill(SIGKILL, ignored);
  return false;
}

}  // namespace webserver
