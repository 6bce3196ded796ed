// HTTP over TLS: server and client in one process, and the server with curl.
#include "support/conditions.hpp"
#include "support/connections.hpp"
#include "support/durations.hpp"
#include "support/harness.hpp"
#include "support/temporary_folder.hpp"
#include "tls/https_server.hpp"

#include <sley/https.hpp>
#include <sley/os.hpp>

#include <chrono>
#include <string>
#include <vector>

using sley::http::client;
using sley::http::client_response;
using sley::http::request;
using sley::http::response;
using sley::net::tls_context;
using sley::net::tls_errc;
using sley_test::https_server;
using sley_test::trusting;
using namespace std::chrono_literals;

namespace {

void echo(request& in, response& out) {
  EXPECT_TRUE(in.is_encrypted());
  out.send(200, "text/plain", "secure " + in.body().read_all());
}

}  // namespace

GO_TEST(https, a_handshake_has_any_limit) {
  sley_test::with_each_that_never_ends([](auto d) {
    const https_server web(echo, d);
    client c(trusting());
    EXPECT_EQ(c.post(web.url, "text/plain", "text").read_all(), "secure text");
  });
  sley_test::with_each_that_is_over([](auto d) {
    const https_server web(echo, d);
    const auto silent = sley::net::tcp_stream::connect(web.address);
    EXPECT_EQ(sley_test::read_to_end(silent), "");
  });
}

GO_TEST(https, serves_and_asks_over_kept_connections) {
  const https_server web(echo);
  client c(trusting());
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(c.post(web.url, "", n).read_all(), "secure " + n);
    EXPECT_EQ(c.idle_connections(), 1U);
  }
  EXPECT_EQ(c.post(web.url, "", std::string(1 << 20, 'x')).read_all().size(), (1U << 20) + 7);
}

GO_TEST(https, many_ask_at_once) {
  const https_server web(echo);
  client c(trusting());
  sley::wait_group group;
  for (int i = 0; i < 8; ++i) {
    group.go([&] {
      for (int j = 0; j < 5; ++j) EXPECT_EQ(c.get(web.url).read_all(), "secure ");
    });
  }
  group.wait();
}

GO_TEST(https, follows_a_redirect_from_http) {
  const https_server web(echo);
  sley::http::server plain([&](request&, response& out) { out.redirect(301, web.url); });
  auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const std::string url = "http://" + listener.local().to_string();
  sley::wait_group serving;
  serving.go([&] { plain.serve(listener); });
  client c(trusting());
  client_response r = c.get(url);
  EXPECT_EQ(r.url().scheme, "https");
  EXPECT_EQ(r.read_all(), "secure ");
  plain.close();
  serving.wait();
}

GO_TEST(https, refuses_a_certificate_without_a_trusted_issuer) {
  const https_server web(echo);
  client c({.connect = sley::http::tls_connector()});
  std::error_code error;
  c.get(web.url, error);
  EXPECT_EQ(error, tls_errc::certificate_refused);
  client trusts(trusting());
  trusts.get("ftp://" + web.address + '/', error);
  EXPECT_TRUE(error);
  EXPECT_EQ(trusts.get(web.url).status(), 200);
}

GO_TEST(https, a_context_ends_waiting_for_an_answer) {
  const https_server web([](request& in, response&) { in.context().done().receive(); });
  client c(trusting());
  auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 20ms);
  std::error_code error;
  c.send({.url = web.url, .context = ctx}, error);
  EXPECT_EQ(error, sley::context_errc::deadline_exceeded);
}

GO_TEST(https, a_context_ends_the_handshake_of_a_request) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  client c(trusting());
  for (const bool by_deadline : {false, true}) {
    auto [ctx, cancel] = by_deadline ? sley::with_timeout(sley::context::background(), 20ms)
                                     : sley::with_cancel(sley::context::background());
    sley::wait_group group;
    group.go([&, end = cancel] {
      const auto silent = listener.accept();
      std::byte hello;
      EXPECT_EQ(silent.read_some({&hello, 1}), 1U);
      if (!by_deadline) end();
      std::error_code error;
      while (silent.read_some({&hello, 1}, error) > 0) {  // ends when the client has given up
      }
    });
    std::error_code error;
    c.get("https://" + listener.local().to_string() + '/', ctx, error);
    EXPECT_EQ(error, ctx.error());
    EXPECT_TRUE(error);
    group.wait();
  }
}

GO_TEST(https, nothing_is_connected_with_a_context_that_has_ended) {
  const https_server web(echo);
  const auto [ctx, cancel] = sley::with_cancel({});
  cancel();
  const tls_context settings = tls_context::client(sley_test::client_options());
  client c(trusting());
  for (int i = 0; i < sley_test::rounds(20); ++i) {
    std::error_code error;
    EXPECT_FALSE(sley::net::tls_stream::connect(web.address, settings, ctx, error).is_open());
    EXPECT_EQ(error, sley::context_errc::canceled);
    c.send({.url = web.url, .context = ctx}, error);
    EXPECT_EQ(error, sley::context_errc::canceled);
  }
}

// RFC 9110, 7.4. A target that is a URL of https is for a server behind TLS.
GO_TEST(https, a_target_of_https_is_served) {
  const https_server web([](request& in, response& out) { out.send(200, "", in.host()); });
  const auto s =
      sley::net::tls_stream::connect(web.address, tls_context::client(sley_test::client_options()));
  s.write_all(sley_test::bytes_of(
      "GET https://example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const std::string answer = sley_test::read_to_end(s);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\nexample.org")) << answer;
}

// ---- the end of a server ----

namespace {

// Connections whose clients say nothing, or half of what a handshake begins with.
std::vector<sley::net::tcp_stream> silent_clients(const https_server& web, std::size_t count) {
  std::vector<sley::net::tcp_stream> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(sley::net::tcp_stream::connect(web.address));
    if (i % 2 == 0) clients.back().write_all(sley_test::bytes_of("\x16\x03\x01"));
  }
  EXPECT_TRUE(sley_test::eventually([&] { return web.server.open_connections() == count; }));
  return clients;
}

// The clients see it, well before the handshake's time is over.
void expect_ended(const https_server& web, const std::vector<sley::net::tcp_stream>& clients) {
  EXPECT_TRUE(sley_test::eventually([&] { return web.server.open_connections() == 0; }));
  for (const auto& c : clients) {
    std::byte one;
    std::error_code error;
    EXPECT_EQ(c.read_some({&one, 1}, error), 0U);
  }
}

}  // namespace

GO_TEST(https, close_ends_handshakes_under_way) {
  const https_server web(echo, 1h);
  const auto clients = silent_clients(web, 50);
  web.server.close();
  expect_ended(web, clients);
}

GO_TEST(https, shutdown_ends_handshakes_under_way) {
  const https_server web(echo, 1h);
  const auto clients = silent_clients(web, 50);
  EXPECT_TRUE(web.server.shutdown());
  expect_ended(web, clients);
}

GO_TEST(https, serves_curl) {
  const sley_test::temporary_folder folder;
  const std::string name = folder / "authority.pem";
  sley::os::write_file(name, sley_test::the_authority().certificate());
  const https_server web(echo);
  std::error_code error;
  const sley::os::command curl{
      .program = "curl",
      .arguments = {"-sS", "--max-time", "30", "--cacert", name, "--data", "a", web.url, web.url}};
  const auto result = sley::os::run(curl, {}, error);
  if (error) GTEST_SKIP() << "there is no curl";
  EXPECT_EQ(result.output, "secure asecure a") << result.errors;
}
