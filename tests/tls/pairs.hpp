// Connected pairs of TLS streams, and the work of both ends of a handshake.
#pragma once

#include "support/connections.hpp"
#include "tls/certificates.hpp"

#include <sley/sley.hpp>
#include <sley/tls.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace sley_test {

struct tls_pair {
  sley::net::tls_stream client, server;
};

// Without a handshake.
inline tls_pair connect_tls(const sley::net::tls_context& client,
                            const sley::net::tls_context& server,
                            const std::string& host = "localhost") {
  tcp_pair c = connect_tcp();
  return {sley::net::tls_stream(std::move(c.client), client, host),
          sley::net::tls_stream(std::move(c.server), server)};
}

struct handshake_errors {
  std::error_code client, server;
};

inline handshake_errors shake_hands(const tls_pair& p) {
  handshake_errors errors;
  sley::wait_group group;
  group.go([&] { p.server.handshake(errors.server); });
  p.client.handshake(errors.client);
  group.wait();
  return errors;
}

inline const sley::net::tls_context& usual_server() {
  static const auto context = sley::net::tls_context::server(server_options());
  return context;
}
inline const sley::net::tls_context& usual_client() {
  static const auto context = sley::net::tls_context::client(client_options());
  return context;
}

// With it.
inline tls_pair connected_tls() {
  tls_pair p = connect_tls(usual_client(), usual_server());
  const handshake_errors errors = shake_hands(p);
  EXPECT_FALSE(errors.client) << errors.client.message();
  EXPECT_FALSE(errors.server) << errors.server.message();
  return p;
}

inline std::error_code read_error(const sley::net::tls_stream& s) {
  std::error_code error;
  std::array<std::byte, 1> byte;
  s.read_some(byte, error);
  return error;
}

inline std::string read_to_end(const sley::net::tls_stream& s) {
  std::string all;
  char buffer[4096];
  while (const std::size_t n = s.read_some(std::as_writable_bytes(std::span(buffer)))) {
    all.append(buffer, n);
  }
  return all;
}

inline std::string read_exactly(const sley::net::tls_stream& s, std::size_t size) {
  std::string got(size, ' ');
  s.read_exactly(std::as_writable_bytes(std::span(got)));
  return got;
}

}  // namespace sley_test
