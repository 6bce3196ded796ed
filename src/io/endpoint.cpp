#include <sley/detail/c_text.hpp>
#include <sley/net.hpp>

#include "io/socket.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace sley::net {

namespace {

const sockaddr_in& v4(const endpoint& e) { return *reinterpret_cast<const sockaddr_in*>(e.data()); }
const sockaddr_in6& v6(const endpoint& e) {
  return *reinterpret_cast<const sockaddr_in6*>(e.data());
}

constexpr std::size_t path_offset = offsetof(sockaddr_un, sun_path);

// The path, empty if there is none: abstract names begin with a zero byte, others may end with one.
std::string_view path_of(const endpoint& e) {
  if (e.size() <= path_offset) return {};
  const std::string_view path(reinterpret_cast<const sockaddr_un*>(e.data())->sun_path,
                              e.size() - path_offset);
  return path.front() == '\0' ? path : path.substr(0, std::min(path.find('\0'), path.size()));
}

// The number or the name of an interface; 0: there is none.
std::uint32_t scope_of(const std::string& zone) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
  if (error == std::errc() && end == zone.data() + zone.size()) return number;
  return ::if_nametoindex(zone.c_str());
}

}  // namespace

endpoint::endpoint(const sockaddr* address, unsigned size) noexcept
    : size_(std::min<unsigned>(size, sizeof address_)) {
  static_assert(sizeof address_ == sizeof(sockaddr_storage));
  if (size_ > 0) std::memcpy(address_, address, size_);  // of nothing there may be no address
}

int endpoint::family() const noexcept { return data()->sa_family; }

endpoint::endpoint(std::string_view ip, std::uint16_t port) {
  std::error_code error;
  *this = io::parse_ip(ip, port, error);
  if (error) throw detail::failed(error, "sley::net::endpoint:", ip);
}

endpoint endpoint::unix_path(std::string_view path) {
  std::error_code error;
  const endpoint parsed = io::parse_path(path, error);
  if (error) throw detail::failed(error, "sley::net::endpoint:", path);
  return parsed;
}

std::string endpoint::host() const {
  char text[INET6_ADDRSTRLEN] = {};
  switch (family()) {
    case AF_INET: return ::inet_ntop(AF_INET, &v4(*this).sin_addr, text, sizeof text);
    case AF_INET6: {
      std::string host = ::inet_ntop(AF_INET6, &v6(*this).sin6_addr, text, sizeof text);
      const std::uint32_t scope = v6(*this).sin6_scope_id;
      char name[IF_NAMESIZE];
      if (scope == 0) return host;
      return host + "%" + (::if_indextoname(scope, name) ? name : std::to_string(scope));
    }
    case AF_UNIX: {
      std::string path(path_of(*this));
      if (!path.empty() && path.front() == '\0') path.front() = '@';
      return path;
    }
    default: return {};
  }
}

std::uint16_t endpoint::port() const noexcept {
  if (family() == AF_INET) return ntohs(v4(*this).sin_port);
  return family() == AF_INET6 ? ntohs(v6(*this).sin6_port) : std::uint16_t{0};
}

std::string endpoint::to_string() const {
  if (family() == AF_INET) return host() + ":" + std::to_string(port());
  if (family() == AF_INET6) return "[" + host() + "]:" + std::to_string(port());
  return host();
}

std::strong_ordering operator<=>(const endpoint& a, const endpoint& b) noexcept {
  if (const auto order = a.family() <=> b.family(); order != 0) return order;
  const auto bytes = [](const auto& x, const auto& y) {
    return std::memcmp(&x, &y, sizeof x) <=> 0;
  };
  switch (a.family()) {
    case AF_INET:
      if (const auto order = bytes(v4(a).sin_addr, v4(b).sin_addr); order != 0) {
        return order;
      }
      return a.port() <=> b.port();
    case AF_INET6:
      if (const auto order = bytes(v6(a).sin6_addr, v6(b).sin6_addr); order != 0) {
        return order;
      }
      if (const auto order = a.port() <=> b.port(); order != 0) return order;
      return v6(a).sin6_scope_id <=> v6(b).sin6_scope_id;
    case AF_UNIX: return path_of(a) <=> path_of(b);
    default: return std::strong_ordering::equal;
  }
}

}  // namespace sley::net

namespace sley::io {

net::endpoint parse_path(std::string_view path, std::error_code& error) noexcept {
  sockaddr_un address = {};
  error.clear();
  // An abstract name has a length, so it may hold any bytes; a path is a C string.
  const bool is_abstract = path.starts_with('@');
  if (path.empty()) error = std::make_error_code(std::errc::invalid_argument);
  if (!is_abstract && detail::has_zero_byte(path, error)) return {};
  if (path.size() >= sizeof address.sun_path) {
    error = std::make_error_code(std::errc::filename_too_long);
  }
  if (error) return {};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  if (is_abstract) address.sun_path[0] = '\0';
  const std::size_t size = offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1);
  return {reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)};
}

net::endpoint with_port(const net::endpoint& e, std::uint16_t port) noexcept {
  sockaddr_storage address = {};
  std::memcpy(&address, e.data(), e.size());
  if (e.family() == AF_INET) reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
  if (e.family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(port);
  return {reinterpret_cast<const sockaddr*>(&address), e.size()};
}

net::endpoint parse_ip(std::string_view ip, std::uint16_t port, std::error_code& error) {
  error.clear();
  if (detail::has_zero_byte(ip, error)) return {};
  const std::size_t percent = ip.find('%');
  const std::string text(ip.substr(0, percent));
  sockaddr_in a4 = {};
  if (percent == std::string_view::npos && ::inet_pton(AF_INET, text.c_str(), &a4.sin_addr) == 1) {
    a4.sin_family = AF_INET;
    a4.sin_port = htons(port);
    return {reinterpret_cast<const sockaddr*>(&a4), sizeof a4};
  }
  sockaddr_in6 a6 = {};
  if (::inet_pton(AF_INET6, text.c_str(), &a6.sin6_addr) != 1) {
    error = std::make_error_code(std::errc::invalid_argument);
    return {};
  }
  a6.sin6_family = AF_INET6;
  a6.sin6_port = htons(port);
  if (percent != std::string_view::npos) {
    a6.sin6_scope_id = net::scope_of(std::string(ip.substr(percent + 1)));
    if (a6.sin6_scope_id == 0) error = std::make_error_code(std::errc::no_such_device);
  }
  return {reinterpret_cast<const sockaddr*>(&a6), sizeof a6};
}

}  // namespace sley::io
