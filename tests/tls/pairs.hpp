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

}  // namespace sley_test
