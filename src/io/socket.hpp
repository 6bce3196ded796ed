// What sockets of all kinds have in common.
#pragma once

#include <sley/net.hpp>

#include "io/perform.hpp"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::io {

// A new socket, non-blocking and closed on exec. -1 on errors.
int open_socket(int family, int type, std::error_code& error) noexcept;
template <class Value>
void set_option(int fd, int level, int name, const Value& value, std::error_code& error) noexcept {
  is_success(attempt([&](int f) { return ::setsockopt(f, level, name, &value, sizeof value); }, fd),
             error);
}
// The options TCP connections begin with. A listener hands them on to connections it accepts.
void set_tcp_defaults(int fd) noexcept;
bool make_non_blocking(int fd, std::error_code& error) noexcept;
bool close_on_exec(int fd, std::error_code& error) noexcept;

net::endpoint local_of(int fd);  // throws std::system_error
net::endpoint local_of(int fd, std::error_code& error) noexcept;
net::endpoint remote_of(int fd);  // throws std::system_error
net::endpoint remote_of(int fd, std::error_code& error) noexcept;

// As endpoint's functions, without exceptions: invalid_argument, no_such_device, filename_too_long.
net::endpoint parse_ip(std::string_view ip, std::uint16_t port, std::error_code& error);

net::endpoint parse_path(std::string_view path, std::error_code& error) noexcept;
net::endpoint with_port(const net::endpoint& e, std::uint16_t port) noexcept;

// "host:port", "[host]:port" or ":port". Sets std::errc::invalid_argument for anything else; what
// the port is remains to be seen.
struct host_and_port {
  std::string host;
  std::string port;
};
host_and_port split_host_port(std::string_view text, std::error_code& error);

}  // namespace sley::io
