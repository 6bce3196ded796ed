// Unix sockets. From Go's net.UnixConn and UnixListener.
#include <sley/detail/c_text.hpp>
#include <sley/net.hpp>

#include "io/connect.hpp"
#include "io/datagram.hpp"
#include "io/listen.hpp"
#include "io/perform.hpp"
#include "io/socket.hpp"

#include <string>
#include <system_error>

namespace sley::net {

using detail::descriptor;
using detail::io_kind;
using detail::throwing;

namespace {

std::pair<descriptor, descriptor> connected_pair(int type, io_kind kind, std::error_code& error) {
  error.clear();
  int ends[2];
  const long result = io::attempt(
      [&ends](int t) { return ::socketpair(AF_UNIX, t | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends); },
      type);
  if (!io::is_success(result, error)) return {};
  std::pair<descriptor, descriptor> made;
  made.first = descriptor(ends[0], kind, error);
  std::error_code second;
  made.second = descriptor(ends[1], kind, second);
  if (!error) error = second;
  return error ? std::pair<descriptor, descriptor>() : std::move(made);
}

}  // namespace

unix_stream unix_stream::connect(std::string_view path, const context& ctx,
                                 std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  const endpoint to = io::parse_path(path, error);
  if (error) return {};
  return unix_stream(io::connect_to_any({to}, ctx, error));
}
unix_stream unix_stream::connect(std::string_view path, std::error_code& error) {
  return connect(path, context::background(), error);
}
unix_stream unix_stream::connect(std::string_view path, const context& ctx) {
  std::error_code error;
  unix_stream connected = connect(path, ctx, error);
  if (error) throw detail::failed(error, "sley: connect to", path);
  return connected;
}

unix_listener::unix_listener(int fd, std::error_code& error) noexcept
    : listener(io::take_over_listener(fd, io::listener_kind::unix_stream, error), false) {}
unix_listener::unix_listener(int fd)
    : listener(io::take_over_listener(fd, io::listener_kind::unix_stream), false) {}

unix_listener unix_listener::listen(std::string_view path, const listen_options& options,
                                    std::error_code& error) {
  const endpoint at = io::parse_path(path, error);
  if (error) return {};
  unix_listener l(io::listen_at(at, options, error), false);
  if (!error && path.front() != '@') l.own_file(path);
  return l;
}
unix_listener unix_listener::listen(std::string_view path, const listen_options& options) {
  std::error_code error;
  unix_listener l = listen(path, options, error);
  if (error) throw detail::failed(error, "sley: listen at", path);
  return l;
}

unix_stream unix_listener::accept(const context& ctx, std::error_code& error) const {
  return unix_stream(accept_next(ctx, error));
}
unix_stream unix_listener::accept(std::error_code& error) const {
  return accept(context::background(), error);
}
unix_stream unix_listener::accept(const context& ctx) const {
  return throwing("sley: accept", [&](std::error_code& e) { return accept(ctx, e); });
}

std::pair<unix_stream, unix_stream> unix_stream::pair(std::error_code& error) {
  auto ends = connected_pair(SOCK_STREAM, io_kind::stream_socket, error);
  return {unix_stream(std::move(ends.first)), unix_stream(std::move(ends.second))};
}
std::pair<unix_stream, unix_stream> unix_stream::pair() {
  return throwing("sley: socket pair", [](std::error_code& e) { return pair(e); });
}

unix_datagram unix_datagram::bind(std::string_view path, std::error_code& error) {
  const endpoint at = io::parse_path(path, error);
  if (error) return {};
  unix_datagram s(io::open_datagram(at, ::bind, error));
  if (!error && path.front() != '@') s.own_file(path);
  return s;
}
unix_datagram unix_datagram::bind(std::string_view path) {
  std::error_code error;
  unix_datagram s = bind(path, error);
  if (error) throw detail::failed(error, "sley: bind to", path);
  return s;
}

unix_datagram unix_datagram::connect(std::string_view path, std::error_code& error) {
  const endpoint to = io::parse_path(path, error);
  return error ? unix_datagram() : unix_datagram(io::open_datagram(to, ::connect, error));
}
unix_datagram unix_datagram::connect(std::string_view path) {
  std::error_code error;
  unix_datagram s = connect(path, error);
  if (error) throw detail::failed(error, "sley: connect to", path);
  return s;
}

std::pair<unix_datagram, unix_datagram> unix_datagram::pair(std::error_code& error) {
  auto ends = connected_pair(SOCK_DGRAM, io_kind::message_socket, error);
  return {unix_datagram(std::move(ends.first)), unix_datagram(std::move(ends.second))};
}
std::pair<unix_datagram, unix_datagram> unix_datagram::pair() {
  return throwing("sley: socket pair", [](std::error_code& e) { return pair(e); });
}

}  // namespace sley::net
