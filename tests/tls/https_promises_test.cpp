// Over TLS a server keeps what it promises over TCP: the write limit is for the peer to take
// something, and shutdown() answers the requests that have come. The client sees which end it was:
// an answer that is complete ends with close_notify, one that was cut does not.
#include "support/slow_peers.hpp"
#include "support/web.hpp"
#include "tls/https_server.hpp"
#include "tls/pairs.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using sley::http::client;
using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley::net::tcp_stream;
using sley::net::tls_context;
using sley::net::tls_stream;
using sley_test::answer_account;
using sley_test::ask_for_hello;
using sley_test::ask_until_the_last_answer;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::https_server;
using sley_test::in;
using sley_test::large_bytes;
using sley_test::large_source;
using sley_test::large_text;
using sley_test::progress_limit;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_slowly;
using sley_test::read_to_end;
using sley_test::send_large_text;
using sley_test::status_of;
using sley_test::trusting;
using sley_test::upgrade_fields;
using namespace std::chrono_literals;

namespace {

tls_stream connect_to(const https_server& web) {
  tls_stream s(sley_test::connect_with_little_room(web.address),
               tls_context::client(sley_test::client_options()), "localhost");
  s.handshake();
  return s;
}

}  // namespace

// ---- slow peers ----

GO_TEST(https_promises, a_slow_client_gets_all_of_an_answer) {
  const https_server web(&send_large_text, {.write_timeout = progress_limit});
  sley::wait_group group;
  for (const std::string_view target : {"/whole", "/pieces", "/websocket"}) {
    group.go([&, target] {
      const tls_stream s = connect_to(web);
      s.write_all(
          bytes_of(get(target, target == "/websocket" ? upgrade_fields : "Connection: close\r\n")));
      EXPECT_GE(read_slowly(s, large_bytes), large_bytes) << target;
    });
  }
  group.wait();
}

GO_TEST(https_promises, a_slow_server_gets_all_of_a_body) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  const std::string url = "https://" + listener.local().to_string() + '/';
  sley::wait_group group;
  for (int i = 0; i < 2; ++i) {
    group.go([&] {
      tcp_stream accepted = listener.accept();
      accepted.set_read_buffer(64 << 10);
      const tls_stream s(std::move(accepted), tls_context::server(sley_test::server_options()));
      EXPECT_GE(read_slowly(s, large_bytes), large_bytes);
    });
  }
  // The server never answers: the request's own end brings the client's time-out.
  auto options = trusting();
  options.header_timeout = 100ms;
  options.write_timeout = progress_limit;
  client c(options);
  group.go([&] {
    std::error_code error;
    c.post(url, "", large_text(), error);
    EXPECT_TRUE(error);
  });
  group.go([&] {
    std::error_code error;
    c.post(url, "", large_source(), error);
    EXPECT_TRUE(error);
  });
  group.wait();
}

GO_TEST(https_promises, an_answer_that_the_client_does_not_read_is_cut_and_logged) {
  answer_account told;
  const https_server web(&send_large_text, told.options());
  std::size_t expected = 0;
  for (const std::string_view target : {"/whole", "/pieces", "/websocket"}) {
    const tls_stream s = connect_to(web);
    s.write_all(bytes_of(get(target, target == "/websocket" ? upgrade_fields : "")));
    ++expected;
    ASSERT_TRUE(eventually([&] { return told.size() == expected; })) << target;
    EXPECT_EQ(told.cut_by.back(), std::errc::timed_out) << target;
    EXPECT_LT(told.bytes.back(), large_bytes) << target;
    ASSERT_EQ(told.reported.size(), expected) << target;  // once each
    EXPECT_EQ(told.reported.back(), std::errc::timed_out) << target;
    EXPECT_THROW(read_to_end(s), std::system_error) << target;
  }
}

// ---- shutdown ----

// An idle connection ends with close_notify, and so does each that has got its answer.
GO_TEST(https_promises, shutdown_answers_the_requests_under_way_and_ends_idle_connections) {
  const sley::chan<void> arrived, go_on;
  const https_server web([=](request& in, response& out) {
    if (in.path() == "/waits") {
      arrived.send();
      go_on.receive();
    }
    out.send(200, "text/plain", "hello");
  });
  // Its handshake is over on both sides: shutdown() would end one that is under way.
  sley_test::tls_pair fresh = sley_test::connected_tls();
  sley::wait_group serving;
  serving.go([&] { web.server.serve(sley::http::make_connection(std::move(fresh.server))); });
  const tls_stream idle = connect_to(web);
  EXPECT_TRUE(has(ask_for_hello(idle), "hello"));
  const tls_stream busy = connect_to(web);
  busy.write_all(bytes_of(get("/waits")));
  arrived.receive();
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 3; }));
  EXPECT_FALSE(web.server.shutdown(in(1ms)));
  EXPECT_EQ(read_to_end(fresh.client), "");
  EXPECT_EQ(read_to_end(idle), "");
  serving.wait();
  go_on.send();
  const std::string answer = read_to_end(busy);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "Connection: close\r\n") && answer.ends_with("hello")) << answer;
  EXPECT_TRUE(web.server.shutdown(in(10s)));
}

GO_TEST(https_promises, an_idle_connection_answers_a_request_that_has_come) {
  const https_server web(sley_test::hello);
  const tls_stream s = connect_to(web);
  EXPECT_TRUE(has(ask_for_hello(s), "hello"));
  sley::wait_group group;
  group.go([&] { EXPECT_TRUE(web.server.shutdown(in(10s))); });
  const std::string last = ask_until_the_last_answer(s);  // none, if this end was late
  EXPECT_TRUE(last.empty() || has(last, "hello"));
  EXPECT_EQ(read_to_end(s), "");
  group.wait();
}

GO_TEST(https_promises, shutdown_closes_websockets_with_1001) {
  const https_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    EXPECT_FALSE(ws.read());
    EXPECT_EQ(ws.close_code(), 1001);
  });
  std::vector<tls_stream> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(connect_to(web));
    all.back().write_all(bytes_of(get("/", upgrade_fields)));
    EXPECT_EQ(status_of(read_head(all.back())), 101);
  }
  sley::wait_group group;
  for (const tls_stream& s : all) {
    group.go([&s] {
      EXPECT_EQ(read_exactly(s, 4), "\x88\x02\x03\xe9");
      s.write_all(bytes_of(std::string("\x88\x82\0\0\0\0\x03\xe9", 8)));
      EXPECT_EQ(read_to_end(s), "");
    });
  }
  EXPECT_TRUE(web.server.shutdown(in(30s)));
  group.wait();
}

// It takes nothing, so that its answer cannot end; close() cuts it.
GO_TEST(https_promises, close_cuts_a_connection_that_takes_nothing) {
  const https_server web(&send_large_text);
  const tls_stream s = connect_to(web);
  s.write_all(bytes_of(get("/whole")));
  EXPECT_EQ(status_of(read_head(s)), 200);
  EXPECT_FALSE(web.server.shutdown(in(1ms)));
  web.server.close();
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
  EXPECT_THROW(read_to_end(s), std::system_error);
}

// An answer of HTTP/1.0 has no other end than that of its connection.
GO_TEST(https_promises, close_cuts_an_answer_without_a_length_so_that_the_client_sees_it) {
  const sley::chan<void> arrived, go_on;
  const https_server web([=](request&, response& out) {
    std::error_code error;
    out.write("hel", error);
    out.flush(error);
    arrived.send();
    go_on.receive();
    out.write("lo", error);
  });
  const auto begin = [&] {
    tls_stream s = connect_to(web);
    s.write_all(bytes_of("GET / HTTP/1.0\r\n\r\n"));
    arrived.receive();
    return s;
  };
  const tls_stream whole = begin();
  go_on.send();
  EXPECT_TRUE(read_to_end(whole).ends_with("\r\n\r\nhello"));
  const tls_stream cut = begin();
  EXPECT_FALSE(web.server.shutdown(in(1ms)));
  web.server.close();
  EXPECT_TRUE(read_head(cut).ends_with("\r\n\r\n"));
  EXPECT_THROW(read_to_end(cut), std::system_error);
  go_on.send();
  EXPECT_TRUE(web.server.shutdown(in(10s)));
}
