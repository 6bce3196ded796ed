#include "io/socket.hpp"

#include "io/perform.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/net.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sley::io {

int open_socket(int family, int type, std::error_code& error) noexcept {
  const long fd = attempt(
      [type](int f) { return ::socket(f, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }, family);
  return is_success(fd, error) ? static_cast<int>(fd) : -1;
}

void set_tcp_defaults(int fd) noexcept {
  std::error_code ignored;  // the connection works without
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1, ignored);
  set_option(fd, IPPROTO_TCP, TCP_INQ, 1, ignored);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1, ignored);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15, ignored);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 15, ignored);
}

bool make_non_blocking(int fd, std::error_code& error) noexcept {
  const long flags = attempt([](int f) { return ::fcntl(f, F_GETFL); }, fd);
  const long result = flags < 0
                          ? flags
                          : attempt(
                                [flags](int f) {
                                  return ::fcntl(f, F_SETFL, static_cast<int>(flags) | O_NONBLOCK);
                                },
                                fd);
  return is_success(result, error);
}

bool close_on_exec(int fd, std::error_code& error) noexcept {
  return is_success(attempt([](int f) { return ::fcntl(f, F_SETFD, FD_CLOEXEC); }, fd), error);
}

namespace {

template <class Ask>
net::endpoint ask_endpoint(int fd, Ask ask, std::error_code& error) noexcept {
  error.clear();
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const long result = attempt([&](int f) { return ask(f, generic, &size); }, fd);
  return is_success(result, error) ? net::endpoint(generic, size) : net::endpoint();
}

}  // namespace

net::endpoint local_of(int fd, std::error_code& error) noexcept {
  return ask_endpoint(fd, ::getsockname, error);
}
net::endpoint local_of(int fd) {
  return detail::throwing("sley: local address",
                          [fd](std::error_code& e) { return local_of(fd, e); });
}
net::endpoint remote_of(int fd, std::error_code& error) noexcept {
  return ask_endpoint(fd, ::getpeername, error);
}
net::endpoint remote_of(int fd) {
  return detail::throwing("sley: remote address",
                          [fd](std::error_code& e) { return remote_of(fd, e); });
}

host_and_port split_host_port(std::string_view text, std::error_code& error) {
  error.clear();
  host_and_port result;
  if (detail::has_zero_byte(text, error)) return result;
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool is_bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  // An IPv6 address needs its brackets: where it ends is unknown otherwise.
  const bool is_clear = host.find_first_of(is_bracketed ? "[]" : ":[]") == std::string_view::npos;
  if (colon == std::string_view::npos || !is_clear) {
    error = std::make_error_code(std::errc::invalid_argument);
  } else {
    result.port = text.substr(colon + 1);
  }
  result.host = host;
  return result;
}

}  // namespace sley::io

namespace sley::net {

using detail::throwing;

namespace {

// The context is the last argument of each read, if there is one.
template <class... Context>
std::size_t fill(const stream& from, std::span<std::byte> buffer, std::error_code& error,
                 const Context&... ctx) noexcept {
  if (io::has_ended(error, ctx...)) return 0;
  std::size_t done = 0;
  while (done < buffer.size()) {
    const std::size_t n = from.read_some(buffer.subspan(done), ctx..., error);
    if (error) return done;
    if (n == 0) {
      error = std::make_error_code(std::errc::connection_aborted);
      return done;
    }
    done += n;
  }
  return done;
}

}  // namespace

std::size_t stream::read_exactly(std::span<std::byte> buffer,
                                 std::error_code& error) const noexcept {
  return fill(*this, buffer, error);
}
std::size_t stream::read_exactly(std::span<std::byte> buffer, const context& ctx,
                                 std::error_code& error) const noexcept {
  return fill(*this, buffer, error, ctx);
}

void stream::shutdown_write() const {
  throwing("sley: shutdown", [&](std::error_code& e) { shutdown_write(e); });
}
void stream::shutdown_write(std::error_code& error) const noexcept {
  error.clear();
  io::is_success(io::attempt([](int fd) { return ::shutdown(fd, SHUT_WR); }, native_handle()),
                 error);
}

void stream::abort() noexcept {
  std::error_code ignored;  // a stream that can't be reset is closed
  io::use(
      descriptor_.get(),
      [](int fd) {
        constexpr linger none = {.l_onoff = 1, .l_linger = 0};
        return ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
      },
      ignored);
  close(ignored);
}

endpoint stream::local() const { return io::local_of(native_handle()); }
endpoint stream::local(std::error_code& error) const noexcept {
  return io::local_of(native_handle(), error);
}
endpoint stream::remote() const { return io::remote_of(native_handle()); }
endpoint stream::remote(std::error_code& error) const noexcept {
  return io::remote_of(native_handle(), error);
}

stream::stream(int fd) {
  std::error_code error;
  *this = stream(fd, error);
  if (error) detail::throw_io_error(error, "sley: take over a socket");
}
stream::stream(int fd, std::error_code& error) noexcept {
  error.clear();
  if (io::make_non_blocking(fd, error)) {
    descriptor_ = detail::descriptor(fd, detail::io_kind::stream_socket, error);
  } else {
    ::close(fd);
  }
}

}  // namespace sley::net
