#include "io/listen.hpp"

#include "io/pause.hpp"
#include "io/perform.hpp"
#include "io/socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace sley::io {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause(5);
constexpr milliseconds longest_pause(1000);

// There is no room at the moment, or not in epoll(7): others may make some.
bool is_shortage(const std::error_code& error) noexcept {
  return error == std::errc::too_many_files_open ||
         error == std::errc::too_many_files_open_in_system || error == std::errc::no_buffer_space ||
         error == std::errc::not_enough_memory || error == std::errc::no_space_on_device;
}

// The connection was gone before it was accepted (accept(2): errors of the new socket).
bool is_of_connection(const std::error_code& error) noexcept {
  switch (error.value()) {
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case ENETUNREACH: return true;
    default: return false;
  }
}

}  // namespace

detail::descriptor listen_at(const net::endpoint& at, const net::listen_options& options,
                             std::error_code& error) {
  const int fd = open_socket(at.family(), SOCK_STREAM, error);
  if (fd < 0) return {};
  detail::descriptor d(fd, detail::io_kind::message_socket, error);
  if (error) return {};
  const bool is_ip = at.family() != AF_UNIX;
  if (is_ip && options.reuse_address) set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1, error);
  if (is_ip && options.reuse_port) set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1, error);
  if (at.family() == AF_INET6 && at.host() == "::") {
    set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0, error);
  }
  if (error) return {};
  if (is_ip) set_tcp_defaults(fd);
  long result = attempt([&at](int f) { return ::bind(f, at.data(), at.size()); }, fd);
  if (result == 0) {
    result = attempt([&options](int f) { return ::listen(f, options.backlog); }, fd);
  }
  return is_success(result, error) ? std::move(d) : detail::descriptor();
}

namespace {

// What getsockopt(2) says of the socket. An earlier error stays.
int option_of(int fd, int name, std::error_code& error) noexcept {
  int value = 0;
  socklen_t size = sizeof value;
  if (!error) {
    is_success(attempt([&](int f) { return ::getsockopt(f, SOL_SOCKET, name, &value, &size); }, fd),
               error);
  }
  return value;
}

// The errors of a connection attempt and of accept(2) say the same. MPTCP and SCTP are no TCP: what
// a short read of them means is another thing.
std::error_code unfitness(int fd, listener_kind kind) noexcept {
  std::error_code error;
  const int type = option_of(fd, SO_TYPE, error);
  const int family = option_of(fd, SO_DOMAIN, error);
  const int protocol = option_of(fd, SO_PROTOCOL, error);
  const bool listens = option_of(fd, SO_ACCEPTCONN, error) != 0;
  if (error) return error;
  const bool is_ip = family == AF_INET || family == AF_INET6;
  const bool is_tcp = kind == listener_kind::tcp;
  if (is_tcp ? !is_ip : family != AF_UNIX) return system_error_of(EAFNOSUPPORT);
  if (type != SOCK_STREAM) return system_error_of(EOPNOTSUPP);
  if (is_tcp && protocol != IPPROTO_TCP) return system_error_of(EPROTONOSUPPORT);
  return listens ? std::error_code() : system_error_of(EINVAL);
}

}  // namespace

detail::descriptor take_over_listener(int fd, listener_kind kind, std::error_code& error) noexcept {
  error = unfitness(fd, kind);
  if (!error) close_on_exec(fd, error);
  if (error || !make_non_blocking(fd, error)) {
    ::close(fd);
    return {};
  }
  if (kind == listener_kind::tcp) set_tcp_defaults(fd);
  return {fd, detail::io_kind::message_socket, error};
}

detail::descriptor take_over_listener(int fd, listener_kind kind) {
  std::error_code error;
  detail::descriptor taken = take_over_listener(fd, kind, error);
  if (!error) return taken;
  const char* const as = kind == listener_kind::tcp ? " as a TCP listener" : " as a Unix listener";
  throw std::system_error(error, "sley: take over descriptor " + std::to_string(fd) + as);
}

}  // namespace sley::io

namespace sley::net {

detail::descriptor listener::accept_next(const context& ctx, std::error_code& error) const {
  for (io::milliseconds pause = io::first_pause;
       ;) {  // ends by a connection, or by an error of ours
    const long fd = io::perform(
        descriptor_.get(), io::direction::read,
        [](int f) { return ::accept4(f, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); },
        [](long) { return false; }, error, ctx);
    if (fd >= 0) {
      const auto kind = accepts_tcp_ ? detail::io_kind::tcp_socket : detail::io_kind::stream_socket;
      detail::descriptor accepted(static_cast<int>(fd), kind, error);
      if (!error) return accepted;  // else it is closed
    }
    if (io::is_shortage(error)) {
      io::pause(descriptor_.get(), io::direction::read, pause, ctx);
      pause = std::min(2 * pause, io::longest_pause);
    } else if (!io::is_of_connection(error)) {
      return {};
    }
  }
}

endpoint listener::local() const { return io::local_of(native_handle()); }
endpoint listener::local(std::error_code& error) const noexcept {
  return io::local_of(native_handle(), error);
}

}  // namespace sley::net
