// Connected pairs of sockets, and bytes for them.
#pragma once

#include <sley/net.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley_test {

inline std::span<const std::byte> bytes_of(std::string_view s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}

struct tcp_pair {
  sley::net::tcp_stream client, server;
};

inline tcp_pair connect_tcp() {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  tcp_pair pair;
  pair.client = sley::net::tcp_stream::connect(listener.local().to_string());
  pair.server = listener.accept();
  return pair;
}

// As many bytes as there are until the end of the stream.
inline std::string read_to_end(const sley::net::stream& s) {
  std::string all;
  char buffer[4096];
  while (const std::size_t n = s.read_some(std::as_writable_bytes(std::span(buffer)))) {
    all.append(buffer, n);
  }
  return all;
}

inline std::string read_exactly(const sley::net::stream& s, std::size_t size) {
  std::string got(size, ' ');
  s.read_exactly(std::as_writable_bytes(std::span(got)));
  return got;
}

// What a read of one byte reports.
inline std::error_code read_error(const sley::net::stream& s) {
  std::error_code error;
  std::array<std::byte, 1> byte;
  s.read_some(byte, error);
  return error;
}

}  // namespace sley_test
