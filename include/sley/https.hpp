// HTTP over TLS: what <sley/http.hpp> and <sley/tls.hpp> are to each other. A program that includes
// it links sley::http and sley::tls.
//
//   sley::http::server_options options;
//   options.connect = sley::http::tls_acceptor(sley::net::tls_context::server({...}));
//
//   sley::http::client client({.connect = sley::http::tls_connector()});
//   client.get("https://example.org/");
#pragma once

#include <sley/context.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/stream_connection.hpp>
#include <sley/http.hpp>
#include <sley/net.hpp>
#include <sley/time.hpp>
#include <sley/tls.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace sley::http {

// HTTP over TLS.
inline connection_ptr make_connection(net::tls_stream stream) {
  return std::make_unique<detail::stream_connection<net::tls_stream, true>>(std::move(stream));
}

// For server_options::connect. A client whose handshake fails, or takes longer than `timeout`, is
// left without a word: a stranger's attempt is no error of the server's. The largest duration of
// any unit: no limit.
inline std::function<connection_ptr(net::tcp_stream)> tls_acceptor(
    net::tls_context context, time_span timeout = std::chrono::seconds(10)) {
  return [context = std::move(context), timeout](net::tcp_stream accepted) -> connection_ptr {
    net::tls_stream stream(std::move(accepted), context);
    stream.set_deadline(sley::detail::time_in(timeout));
    std::error_code error;
    stream.handshake(error);
    if (error) return nullptr;
    stream.set_deadline(time_point::max());
    return make_connection(std::move(stream));
  };
}

// For client_options::connect: TLS for https and TCP for http, std::errc::protocol_not_supported
// for all else. The certificate must be the URL's host's, unless the context says otherwise.
inline connector tls_connector(net::tls_context context = net::tls_context::client()) {
  return [context = std::move(context)](const sley::context& ctx, const url& to) {
    std::error_code error;
    connection_ptr result;
    if (to.scheme == "https") {
      auto stream = net::tls_stream::connect(to.host_port(), context, ctx, error);
      if (!error) result = make_connection(std::move(stream));
    } else if (to.scheme == "http") {
      auto stream = net::tcp_stream::connect(to.host_port(), ctx, error);
      if (!error) result = make_connection(std::move(stream));
    } else {
      error = std::make_error_code(std::errc::protocol_not_supported);
    }
    if (error) throw sley::detail::failed(error, "sley: connect to", to.host_port());
    return result;
  };
}

}  // namespace sley::http
