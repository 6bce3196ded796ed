// TCP: connections by name, and listeners. From Go's net.
#include <sley/detail/c_text.hpp>
#include <sley/net.hpp>

#include "io/connect.hpp"
#include "io/listen.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <string>
#include <system_error>

namespace sley::net {

using detail::throwing;

void tcp_stream::set_no_delay(bool on, std::error_code& error) const noexcept {
  error.clear();
  io::set_option(native_handle(), IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0, error);
}
void tcp_stream::set_no_delay(bool on) const {
  throwing("sley: TCP_NODELAY", [&](std::error_code& e) { set_no_delay(on, e); });
}

namespace {

// As options have it, rounded up. The longest is 292 years, which may be more than an int of them.
int whole_seconds(time_span d) noexcept {
  const std::int64_t seconds = std::chrono::ceil<std::chrono::seconds>(d).count();
  return static_cast<int>(std::clamp<std::int64_t>(seconds, 0, INT_MAX));
}

}  // namespace

void tcp_stream::set_keep_alive(time_span idle, std::error_code& error) const noexcept {
  error.clear();
  const bool on = idle.count() > 0 && idle != time_span::max();
  io::set_option(native_handle(), SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0, error);
  if (!on || error) return;
  io::set_option(native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, whole_seconds(idle), error);
}
void tcp_stream::set_keep_alive(time_span idle) const {
  throwing("sley: SO_KEEPALIVE", [&](std::error_code& e) { set_keep_alive(idle, e); });
}

void tcp_stream::set_linger(time_span limit, std::error_code& error) const noexcept {
  error.clear();
  const bool on = limit.count() >= 0 && limit != time_span::max();
  const linger value = {.l_onoff = on ? 1 : 0, .l_linger = whole_seconds(limit)};
  io::set_option(native_handle(), SOL_SOCKET, SO_LINGER, value, error);
}
void tcp_stream::set_linger(time_span limit) const {
  throwing("sley: SO_LINGER", [&](std::error_code& e) { set_linger(limit, e); });
}

void tcp_stream::set_read_buffer(int bytes, std::error_code& error) const noexcept {
  error.clear();
  io::set_option(native_handle(), SOL_SOCKET, SO_RCVBUF, bytes, error);
}
void tcp_stream::set_read_buffer(int bytes) const {
  throwing("sley: SO_RCVBUF", [&](std::error_code& e) { set_read_buffer(bytes, e); });
}

void tcp_stream::set_write_buffer(int bytes, std::error_code& error) const noexcept {
  error.clear();
  io::set_option(native_handle(), SOL_SOCKET, SO_SNDBUF, bytes, error);
}
void tcp_stream::set_write_buffer(int bytes) const {
  throwing("sley: SO_SNDBUF", [&](std::error_code& e) { set_write_buffer(bytes, e); });
}

tcp_stream tcp_stream::connect(std::string_view host_port, const context& ctx,
                               std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  const std::vector<endpoint> endpoints = io::where_to_connect(host_port, ctx, error);
  if (error) return {};
  tcp_stream connected(io::connect_to_any(endpoints, ctx, error));
  if (!error) io::set_tcp_defaults(connected.native_handle());
  return connected;
}

tcp_stream tcp_stream::connect(std::string_view host_port, std::error_code& error) {
  return connect(host_port, context::background(), error);
}

tcp_stream tcp_stream::connect(std::string_view host_port, const context& ctx) {
  std::error_code error;
  tcp_stream connected = connect(host_port, ctx, error);
  if (error) throw detail::failed(error, "sley: connect to", host_port);
  return connected;
}

tcp_listener::tcp_listener(int fd, std::error_code& error) noexcept
    : listener(io::take_over_listener(fd, io::listener_kind::tcp, error), true) {}
tcp_listener::tcp_listener(int fd)
    : listener(io::take_over_listener(fd, io::listener_kind::tcp), true) {}

tcp_listener tcp_listener::listen(std::string_view host_port, const listen_options& options,
                                  const context& ctx, std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  const endpoint at = io::where_to_listen(host_port, ctx, error);
  if (error) return {};
  return {io::listen_at(at, options, error), true};
}
tcp_listener tcp_listener::listen(std::string_view host_port, const listen_options& options,
                                  std::error_code& error) {
  return listen(host_port, options, context::background(), error);
}

tcp_listener tcp_listener::listen(std::string_view host_port, const listen_options& options,
                                  const context& ctx) {
  std::error_code error;
  tcp_listener l = listen(host_port, options, ctx, error);
  if (error) throw detail::failed(error, "sley: listen at", host_port);
  return l;
}

tcp_stream tcp_listener::accept(const context& ctx, std::error_code& error) const {
  return tcp_stream(accept_next(ctx, error));
}
tcp_stream tcp_listener::accept(std::error_code& error) const {
  return accept(context::background(), error);
}
tcp_stream tcp_listener::accept(const context& ctx) const {
  return throwing("sley: accept", [&](std::error_code& e) { return accept(ctx, e); });
}

}  // namespace sley::net
