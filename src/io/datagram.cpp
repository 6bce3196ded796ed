// Datagrams: UDP. From Go's net.UDPConn.
#include <sley/net.hpp>

#include "io/perform.hpp"
#include "io/resolve.hpp"
#include "io/socket.hpp"

#include <sys/socket.h>

namespace sley::net {

using detail::throwing;

namespace {

// A datagram tells nothing of those behind it, and if one fits others may.
constexpr auto more = [](long) { return false; };

template <class Call>
std::size_t perform(const detail::descriptor& d, io::direction direction, const Call& call,
                    std::error_code& error) noexcept {
  const long n = io::perform(d.get(), direction, call, more, error);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

using attach = int (*)(int, const sockaddr*, socklen_t);

detail::descriptor open_at(const endpoint& at, attach how, std::error_code& error) {
  const int fd = io::open_socket(at.family(), SOCK_DGRAM, error);
  if (fd < 0) return {};
  detail::descriptor d(fd, detail::io_kind::message_socket, error);
  if (error) return {};
  const long result = io::attempt([&](int f) { return how(f, at.data(), at.size()); }, fd);
  return io::is_success(result, error) ? std::move(d) : detail::descriptor();
}

}  // namespace

udp_socket udp_socket::bind(std::string_view host_port, std::error_code& error) {
  const endpoint at = io::where_to_listen(host_port, error);
  return error ? udp_socket() : udp_socket(open_at(at, ::bind, error));
}
udp_socket udp_socket::bind(std::string_view host_port) {
  std::error_code error;
  udp_socket s = bind(host_port, error);
  if (error) throw io::failed(error, "sley: bind to", host_port);
  return s;
}

udp_socket udp_socket::connect(std::string_view host_port, std::error_code& error) {
  std::error_code first;
  for (const endpoint& to : io::where_to_connect(host_port, time_point::max(), first)) {
    error.clear();
    udp_socket s(open_at(to, ::connect, error));
    if (!error) return s;
    if (!first) first = error;
  }
  error = first;
  return {};
}
udp_socket udp_socket::connect(std::string_view host_port) {
  std::error_code error;
  udp_socket s = connect(host_port, error);
  if (error) throw io::failed(error, "sley: connect to", host_port);
  return s;
}

std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from,
                                          std::error_code& error) const noexcept {
  return perform(
      descriptor_, io::direction::read,
      [&](int fd) {
        sockaddr_storage address;
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        const long n = ::recvfrom(fd, buffer.data(), buffer.size(), 0, generic, &size);
        if (n >= 0) from = endpoint(generic, size);
        return n;
      },
      error);
}
std::size_t datagram_socket::receive_from(std::span<std::byte> buffer, endpoint& from) const {
  return throwing("sley: receive",
                  [&](std::error_code& e) { return receive_from(buffer, from, e); });
}

std::size_t datagram_socket::send_to(std::span<const std::byte> datagram, const endpoint& to,
                                     std::error_code& error) const noexcept {
  return perform(
      descriptor_, io::direction::write,
      [&](int fd) {
        return ::sendto(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL, to.data(), to.size());
      },
      error);
}
std::size_t datagram_socket::send_to(std::span<const std::byte> datagram,
                                     const endpoint& to) const {
  return throwing("sley: send", [&](std::error_code& e) { return send_to(datagram, to, e); });
}

std::size_t datagram_socket::receive(std::span<std::byte> buffer,
                                     std::error_code& error) const noexcept {
  return perform(
      descriptor_, io::direction::read,
      [&](int fd) { return ::recv(fd, buffer.data(), buffer.size(), 0); }, error);
}
std::size_t datagram_socket::receive(std::span<std::byte> buffer) const {
  return throwing("sley: receive", [&](std::error_code& e) { return receive(buffer, e); });
}

std::size_t datagram_socket::send(std::span<const std::byte> datagram,
                                  std::error_code& error) const noexcept {
  return perform(
      descriptor_, io::direction::write,
      [&](int fd) { return ::send(fd, datagram.data(), datagram.size(), MSG_NOSIGNAL); }, error);
}
std::size_t datagram_socket::send(std::span<const std::byte> datagram) const {
  return throwing("sley: send", [&](std::error_code& e) { return send(datagram, e); });
}

endpoint datagram_socket::local() const { return io::local_of(native_handle()); }
endpoint datagram_socket::remote() const { return io::remote_of(native_handle()); }

}  // namespace sley::net
