// A server under a service manager: the descriptors that it inherits, and what it tells of itself.
// The protocols are systemd's (sd_listen_fds(3), sd_notify(3)), which other managers speak as well.
// No library of theirs is needed.
//
//   for (const auto& [name, fd] : sley::service::inherited()) {
//     if (name == "http") listener = sley::net::tcp_listener(fd);
//   }
//   ...
//   sley::service::notify(sley::service::ready);
//
// Errors are as in <sley/net.hpp>, and messages name the variable and its value.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/os.hpp>

#include <string>
#include <string_view>
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

// ---- what the manager is told ----

// What notify() sends. States are joined with a line feed between them.
inline constexpr std::string_view ready = "READY=1";        // it serves, or does so again
inline constexpr std::string_view stopping = "STOPPING=1";  // it has begun to end
// The service begins to read its settings again, at the present time (MONOTONIC_USEC). It sends
// `ready` when it has.
SLEY_API std::string reloading();
// A line for the operator, as `systemctl status` shows it. Bytes that would end or garble the line
// are escaped.
SLEY_API std::string status(std::string_view text);

// Sends the state to the manager's socket (NOTIFY_SOCKET: a path, or "@name" of an abstract one),
// as sd_notify(3) does: one of the states above, or any other, as "MAINPID=123". Returns false if
// there is no manager that listens: NOTIFY_SOCKET is not set, or empty. Parks while the socket's
// queue is full; given up when the context ends, with its error. Throws std::system_error:
// address_family_not_supported for a NOTIFY_SOCKET of another kind, and the errors of
// net::unix_datagram. Any thread and goroutine.
SLEY_API bool notify(std::string_view state, const context& ctx = context::background());
SLEY_API bool notify(std::string_view state, std::error_code& error);
SLEY_API bool notify(std::string_view state, const context& ctx, std::error_code& error);

// Tells the manager's watchdog, twice in the time that it allows (WATCHDOG_USEC), that goroutines
// run. Returns when the context ends; at once if there is no watchdog: the variable is not set, or
// WATCHDOG_PID is another process's number. For a goroutine of its own:
//   serving.go([ctx] { sley::service::feed_watchdog(ctx); });
// What can't be sent is no error, because the manager may be restarting. Throws std::system_error:
// std::errc::invalid_argument for a variable that is no number above zero.
SLEY_API void feed_watchdog(const context& ctx);

}  // namespace sley::service
