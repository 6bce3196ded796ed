// A server of HTTPS for a test, and the settings of a client that trusts it.
#pragma once

#include "support/harness.hpp"
#include "tls/certificates.hpp"

#include <sley/https.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace sley_test {

// Serves on a port of its own until it is destroyed. `timeout` is the handshake's.
class https_server {
 public:
  explicit https_server(sley::http::handler h, sley::time_span timeout = std::chrono::seconds(10))
      : https_server(std::move(h), {}, timeout) {}
  https_server(sley::http::handler h, sley::http::server_options options,
               sley::time_span timeout = std::chrono::seconds(10))
      : server(std::move(h), over_tls(std::move(options), timeout)) {
    auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
    address = listener.local().to_string();
    url = "https://" + address + '/';
    serving_.go([this, l = std::move(listener)]() mutable { server.serve(l); });
  }
  ~https_server() {
    server.close();
    serving_.wait();
  }

  mutable sley::http::server server;
  std::string address;
  std::string url;

 private:
  static sley::http::server_options over_tls(sley::http::server_options o,
                                             sley::time_span timeout) {
    o.connect = sley::http::tls_acceptor(sley::net::tls_context::server(server_options()), timeout);
    return o;
  }

  sley::wait_group serving_;
};

inline sley::http::client_options trusting() {
  return {.connect = sley::http::tls_connector(sley::net::tls_context::client(client_options()))};
}

}  // namespace sley_test
