// Whatever an address, a host with a port or a path is, it means the same after it was written down
// and read again. Run by `./dev fuzz endpoint SECONDS`.
#include "expect.hpp"
#include "io/socket.hpp"

#include <sley/net.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>

namespace {

namespace io = sley::io;
using sley::net::endpoint;
using sley_fuzz::expect;

void check_ip(std::string_view text, std::uint16_t port) {
  std::error_code error;
  const endpoint e = io::parse_ip(text, port, error);
  if (error) return;
  expect(e.port() == port, "it has its port", text);
  expect(text.find('\0') == std::string_view::npos, "nothing is left out", text);
  const endpoint again = io::parse_ip(e.host(), port, error);
  expect(!error && again == e && again.to_string() == e.to_string(), "it is the same", text);
  const io::host_and_port parts = io::split_host_port(e.to_string(), error);
  expect(!error && parts.host == e.host() && parts.port == std::to_string(port),
         "it can be connected to", text);
}

void check_host_port(std::string_view text) {
  std::error_code error;
  const io::host_and_port parts = io::split_host_port(text, error);
  if (error) {
    expect(error == std::errc::invalid_argument, "the error says what it is", text);
    return;
  }
  const std::string port = ':' + parts.port;
  const std::string again =
      parts.host.find(':') == std::string::npos ? parts.host + port : "[" + parts.host + "]" + port;
  const io::host_and_port same = io::split_host_port(again, error);
  expect(!error && same.host == parts.host && same.port == parts.port, "it is the same", text);
}

void check_path(std::string_view text) {
  std::error_code error;
  const endpoint e = io::parse_path(text, error);
  if (error) return;
  expect(e.host() == text, "a path is what it was", text);
  expect(e == io::parse_path(e.host(), error) && !error, "it is the same", text);
}

// What the system hands out is an address, whatever is in it.
void check_bytes(const std::uint8_t* data, std::size_t size) {
  sockaddr_storage address = {};
  std::memcpy(&address, data, std::min(size, sizeof address));
  const endpoint e(reinterpret_cast<const sockaddr*>(&address), static_cast<unsigned>(size));
  expect(e.size() <= sizeof address, "it is no larger than there is room");
  expect(e == e && e.to_string() == e.to_string(), "it is itself");
  if (size < sizeof(sockaddr_in6)) return;
  const bool has_port = e.family() == AF_INET || e.family() == AF_INET6;
  expect(io::with_port(e, 7).port() == (has_port ? 7 : 0), "it gets a port");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_ip(text, static_cast<std::uint16_t>(size * 257));
  check_host_port(text);
  check_path(text);
  check_bytes(data, size);
  return 0;
}
