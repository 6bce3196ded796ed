// Datagrams: UDP and what Unix sockets have in common with it. From Go's net.UDPConn and UnixConn.
#include "io/datagram.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/context.hpp>

#include "io/pause.hpp"
#include "io/perform.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"
#include "platform/poll_any.hpp"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace sley::io {

detail::descriptor open_datagram(const net::endpoint& at, attach how, std::error_code& error) {
  const int fd = open_socket(at.family(), SOCK_DGRAM, error);
  if (fd < 0) return {};
  detail::descriptor d(fd, detail::io_kind::message_socket, error);
  if (error) return {};
  const long result = attempt([&](int f) { return how(f, at.data(), at.size()); }, fd);
  return is_success(result, error) ? std::move(d) : detail::descriptor();
}

}  // namespace sley::io

namespace sley::net {

using detail::throwing;

namespace {

using std::chrono::milliseconds;

// A datagram tells nothing of the next ones, and if one fits others may.
constexpr auto more = [](long) { return false; };

template <class Call, class... Context>
std::size_t perform(const detail::descriptor& d, io::direction direction, const Call& call,
                    std::error_code& error, const Context&... ctx) noexcept {
  const long n = io::perform(d.get(), direction, call, more, error, ctx...);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

constexpr milliseconds first_pause(1);
constexpr milliseconds longest_pause(20);

bool is_writable(int fd) noexcept {
  pollfd one = {.fd = fd, .events = POLLOUT, .revents = 0};
  constexpr timespec at_once = {};
  return platform::poll_any({&one, 1}, &at_once) == 1 && (one.revents & POLLOUT) != 0;
}

// Sends once. `is_full`: the receiver's queue is. Only Unix sockets tell that, by the same EAGAIN
// that tells of a sender which is not writable; and no event comes when there is room.
std::size_t try_send_to(const detail::descriptor& d, std::span<const std::byte> datagram,
                        const endpoint& to, const context& ctx, bool& is_full,
                        std::error_code& error) noexcept {
  return perform(
      d, io::direction::write,
      [&](int fd) {
        const long n = platform::kernel::sendto(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL,
                                                to.data(), to.size());
        if (n >= 0 || platform::last_errno() != EAGAIN || to.family() != AF_UNIX) return n;
        is_full = is_writable(fd);
        platform::set_errno(is_full ? ENOBUFS : EAGAIN);
        return n;
      },
      error, ctx);
}

template <class... Context>
std::size_t receive_from(const detail::descriptor& d, std::span<std::byte> buffer, endpoint& from,
                         std::error_code& error, const Context&... ctx) noexcept {
  return perform(
      d, io::direction::read,
      [&](int fd) {
        sockaddr_storage address;
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        const long n =
            platform::kernel::recvfrom(fd, buffer.data(), buffer.size(), 0, generic, &size);
        if (n >= 0) from = endpoint(generic, size);
        return n;
      },
      error, ctx...);
}

template <class... Context>
std::size_t receive(const detail::descriptor& d, std::span<std::byte> buffer,
                    std::error_code& error, const Context&... ctx) noexcept {
  return perform(
      d, io::direction::read,
      [&](int fd) {
        return platform::kernel::recvfrom(fd, buffer.data(), buffer.size(), 0, nullptr, nullptr);
      },
      error, ctx...);
}

template <class... Context>
std::size_t send(const detail::descriptor& d, std::span<const std::byte> datagram,
                 std::error_code& error, const Context&... ctx) noexcept {
  return perform(
      d, io::direction::write,
      [&](int fd) {
        return platform::kernel::sendto(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL, nullptr,
                                        0);
      },
      error, ctx...);
}

}  // namespace

udp_socket udp_socket::bind(std::string_view host_port, const context& ctx,
                            std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  const endpoint at = io::where_to_listen(host_port, ctx, error);
  return error ? udp_socket() : udp_socket(io::open_datagram(at, ::bind, error));
}
udp_socket udp_socket::bind(std::string_view host_port, std::error_code& error) {
  return bind(host_port, context::background(), error);
}
udp_socket udp_socket::bind(std::string_view host_port, const context& ctx) {
  std::error_code error;
  udp_socket s = bind(host_port, ctx, error);
  if (error) throw detail::failed(error, "sley: bind to", host_port);
  return s;
}

udp_socket udp_socket::connect(std::string_view host_port, const context& ctx,
                               std::error_code& error) {
  error = ctx.error();
  if (error) return {};
  std::error_code first;
  for (const endpoint& to : io::where_to_connect(host_port, ctx, first)) {
    error.clear();
    udp_socket s(io::open_datagram(to, ::connect, error));
    if (!error) return s;
    if (!first) first = error;
  }
  error = first;
  return {};
}
udp_socket udp_socket::connect(std::string_view host_port, std::error_code& error) {
  return connect(host_port, context::background(), error);
}
udp_socket udp_socket::connect(std::string_view host_port, const context& ctx) {
  std::error_code error;
  udp_socket s = connect(host_port, ctx, error);
  if (error) throw detail::failed(error, "sley: connect to", host_port);
  return s;
}

std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from,
                                          std::error_code& error) const noexcept {
  return net::receive_from(descriptor_, buffer, from, error);
}
std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from) const {
  return throwing("sley: receive",
                  [&](std::error_code& e) { return receive_from(buffer, from, e); });
}
std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from,
                                          const context& ctx,
                                          std::error_code& error) const noexcept {
  return net::receive_from(descriptor_, buffer, from, error, ctx);
}
std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from,
                                          const context& ctx) const {
  return throwing("sley: receive",
                  [&](std::error_code& e) { return receive_from(buffer, from, ctx, e); });
}

std::size_t datagram_socket::send_to(std::span<const std::byte> datagram, const endpoint& to,
                                     const context& ctx, std::error_code& error) const noexcept
    try {
  for (milliseconds pause = first_pause;;
       pause = std::min(2 * pause, longest_pause)) {  // ends when there is room, or by the socket
    bool is_full = false;
    const std::size_t n = try_send_to(descriptor_, datagram, to, ctx, is_full, error);
    if (!is_full) return n;
    io::pause(descriptor_.get(), io::direction::write, pause, ctx);
  }
} catch (const std::bad_alloc&) {
  error = std::make_error_code(std::errc::not_enough_memory);
  return 0;
}
std::size_t datagram_socket::send_to(std::span<const std::byte> datagram, const endpoint& to,
                                     std::error_code& error) const noexcept {
  return send_to(datagram, to, context::background(), error);
}
std::size_t datagram_socket::send_to(std::span<const std::byte> datagram,
                                     const endpoint& to) const {
  return throwing("sley: send", [&](std::error_code& e) { return send_to(datagram, to, e); });
}
std::size_t datagram_socket::send_to(std::span<const std::byte> datagram, const endpoint& to,
                                     const context& ctx) const {
  return throwing("sley: send", [&](std::error_code& e) { return send_to(datagram, to, ctx, e); });
}

std::size_t datagram_socket::receive(std::span<std::byte> buffer,
                                     std::error_code& error) const noexcept {
  return net::receive(descriptor_, buffer, error);
}
std::size_t datagram_socket::receive(std::span<std::byte> buffer) const {
  return throwing("sley: receive", [&](std::error_code& e) { return receive(buffer, e); });
}
std::size_t datagram_socket::receive(std::span<std::byte> buffer, const context& ctx,
                                     std::error_code& error) const noexcept {
  return net::receive(descriptor_, buffer, error, ctx);
}
std::size_t datagram_socket::receive(std::span<std::byte> buffer, const context& ctx) const {
  return throwing("sley: receive", [&](std::error_code& e) { return receive(buffer, ctx, e); });
}

std::size_t datagram_socket::send(std::span<const std::byte> datagram,
                                  std::error_code& error) const noexcept {
  return net::send(descriptor_, datagram, error);
}
std::size_t datagram_socket::send(std::span<const std::byte> datagram) const {
  return throwing("sley: send", [&](std::error_code& e) { return send(datagram, e); });
}
std::size_t datagram_socket::send(std::span<const std::byte> datagram, const context& ctx,
                                  std::error_code& error) const noexcept {
  return net::send(descriptor_, datagram, error, ctx);
}
std::size_t datagram_socket::send(std::span<const std::byte> datagram, const context& ctx) const {
  return throwing("sley: send", [&](std::error_code& e) { return send(datagram, ctx, e); });
}

endpoint datagram_socket::local() const { return io::local_of(native_handle()); }
endpoint datagram_socket::local(std::error_code& error) const noexcept {
  return io::local_of(native_handle(), error);
}
endpoint datagram_socket::remote() const { return io::remote_of(native_handle()); }
endpoint datagram_socket::remote(std::error_code& error) const noexcept {
  return io::remote_of(native_handle(), error);
}

}  // namespace sley::net
