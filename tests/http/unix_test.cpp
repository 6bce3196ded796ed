// HTTP over Unix sockets: a server with a unix_listener.
#include "support/connections.hpp"
#include "support/web.hpp"

#include <sley/net.hpp>

#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/socket.h>
#include <unistd.h>

using sley::http::request;
using sley::http::response;
using sley::http::server_options;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::ask_for_hello;
using sley_test::body_of;
using sley_test::hello;

namespace {

class unix_server {
 public:
  explicit unix_server(sley::http::handler h, server_options options = {})
      : server(std::move(h), std::move(options)) {
    serving_.go([this] { server.serve(listener_); });
  }
  ~unix_server() {
    server.close();
    serving_.wait();
    EXPECT_FALSE(listener_.is_open());
  }
  unix_stream connect() const { return unix_stream::connect(name_); }

  sley::http::server server;

 private:
  const std::string name_ = "@sley-http-" + std::to_string(::getpid());
  unix_listener listener_ = unix_listener::listen(name_);
  sley::wait_group serving_;
};

}  // namespace

GO_TEST(unix_http, serves_kept_connections) {
  const unix_server web(hello);
  const auto s = web.connect();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask_for_hello(s)), "hello");
  EXPECT_EQ(body_of(ask_for_hello(web.connect())), "hello");
}

GO_TEST(unix_http, serves_unix_and_tcp_at_the_same_time) {
  unix_server web(hello);
  auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const auto address = listener.local().to_string();
  sley::wait_group serving;
  serving.go([&] { web.server.serve(listener); });
  const auto a = web.connect();
  const auto b = sley::net::tcp_stream::connect(address);
  EXPECT_EQ(body_of(ask_for_hello(a)), "hello");
  EXPECT_EQ(body_of(ask_for_hello(b)), "hello");
  EXPECT_EQ(web.server.open_connections(), 2U);
  EXPECT_TRUE(web.server.shutdown());
  serving.wait();
}

GO_TEST(unix_http, a_client_connects_by_its_connector) {
  const unix_server web([](request& in, response& out) {
    EXPECT_EQ(in.remote().family(), AF_UNIX);
    hello(in, out);
  });
  sley::http::client c({.connect = [&](const sley::context&, const sley::http::url&) {
    return sley::http::make_connection(web.connect());
  }});
  EXPECT_EQ(c.get("http://localhost/").read_all(), "hello");
}

GO_TEST(unix_http, connections_are_made_by_connect_unix) {
  int made = 0;
  server_options options;
  options.connect_unix = [&](unix_stream s) {
    ++made;
    return sley::http::make_connection(std::move(s));
  };
  const unix_server web(hello, options);
  EXPECT_EQ(body_of(ask_for_hello(web.connect())), "hello");
  EXPECT_EQ(made, 1);
}

// It would speak without TLS, by mistake.
GO_TEST(unix_http, a_server_that_connects_by_tcp_alone_is_refused) {
  server_options options;
  options.connect = [](sley::net::tcp_stream s) {
    return sley::http::make_connection(std::move(s));
  };
  sley::http::server server(hello, options);
  auto listener = unix_listener::listen("@sley-http-refused-" + std::to_string(::getpid()));
  EXPECT_THROW(server.serve(listener), std::logic_error);
  EXPECT_TRUE(listener.is_open());
}
