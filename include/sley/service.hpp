// A server under a service manager: the descriptors that it inherits, and what it tells of itself.
// The protocols are systemd's (sd_listen_fds(3), sd_notify(3)), which other managers speak as well.
// No library of theirs is needed.
//
//   for (const auto& [name, fd] : sley::service::inherited()) {
//     if (name == "http") listener = sley::net::tcp_listener(fd);
//   }
//
// Errors are as in <sley/net.hpp>, and messages name the variable and its value.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/os.hpp>

#include <system_error>
#include <vector>

namespace sley::service {

// The descriptors that were handed down to this process: by systemd's socket activation, or by a
// process that started it with os::command::hand_down. They are 3, 4 and so on, in the order of the
// unit's sockets, with the names of LISTEN_FDNAMES ("unknown" if that is not set). Each is set to
// close on exec and is the caller's from now on. A listener is what net::tcp_listener(fd) and
// net::unix_listener(fd) make of it.
//
// None if LISTEN_PID or LISTEN_FDS is not set, or LISTEN_PID is another process's number. Takes all
// three variables out of the environment, so further calls return none, and so do processes that
// this one starts. Other threads must not read or change the environment meanwhile: the beginning
// of main() is the place for it.
//
// Throws std::system_error: std::errc::invalid_argument for a variable that is no number above
// zero, or for a number of names that is not that of the descriptors; bad_file_descriptor for one
// that is not open.
SLEY_API std::vector<os::named_descriptor> inherited();
SLEY_API std::vector<os::named_descriptor> inherited(std::error_code& error);

}  // namespace sley::service
