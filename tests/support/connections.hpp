// Connected pairs of sockets, and bytes for them. Where a function takes any stream, it may be one
// of TLS as well.
#pragma once

#include "support/harness.hpp"

#include <sley/net.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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
template <class Stream>
std::string read_to_end(const Stream& s) {
  std::string all;
  char buffer[4096];
  while (const std::size_t n = s.read_some(std::as_writable_bytes(std::span(buffer)))) {
    all.append(buffer, n);
  }
  return all;
}

template <class Stream>
std::string read_exactly(const Stream& s, std::size_t size) {
  std::string got(size, ' ');
  s.read_exactly(std::as_writable_bytes(std::span(got)));
  return got;
}

// Sends back all bytes that come, until the end.
template <class Stream>
void echo(const Stream& s) {
  std::byte buffer[16 * 1024];
  while (const std::size_t n = s.read_some(buffer)) s.write_all(std::span(buffer).first(n));
}

// Sends `bytes` random bytes to an echo, and expects them back. One goroutine writes while another
// reads, because a large message does not fit into the sockets.
inline void exchange(const sley::net::stream& s, random_source& random, std::size_t bytes) {
  std::vector<std::byte> sent(bytes);
  for (std::byte& b : sent) b = static_cast<std::byte>(random());
  sley::wait_group writing;
  writing.go([&] { s.write_all(sent); });
  std::vector<std::byte> got(sent.size());
  s.read_exactly(got);
  writing.wait();
  EXPECT_TRUE(got == sent) << sent.size() << " bytes";
}

// The error that a read of one byte reports.
template <class Stream>
std::error_code read_error(const Stream& s) {
  std::error_code error;
  std::array<std::byte, 1> byte;
  s.read_some(byte, error);
  return error;
}

}  // namespace sley_test
