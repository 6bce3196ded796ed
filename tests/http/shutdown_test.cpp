// shutdown() in the middle of things: it answers requests that have come, and tells WebSockets.
#include "support/memory_connection.hpp"
#include "support/web.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley::net::tcp_stream;
using sley_test::ask_for_hello;
using sley_test::ask_until_the_last_answer;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::in;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

// ---- requests ----

GO_TEST(shutdown, waits_until_a_context_ends) {
  const sley::chan<void> release;
  running_server web([&](request&, response&) { release.receive(); });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 1; }));
  const auto [ctx, cancel] = sley::with_timeout({}, 5ms);
  EXPECT_FALSE(web.server.shutdown(ctx));
  EXPECT_FALSE(web.server.shutdown(ctx)) << "it has ended";
  release.close();
  EXPECT_TRUE(web.server.shutdown(sley::context()));
}

// Without a pause: at any moment each connection has a request on its way.
GO_TEST(shutdown, answers_keep_alive_clients_to_the_end) {
  constexpr int clients = 40;
  int lost = 0;
  const int rounds = sley_test::rounds(10);
  for (int round = 0; round < rounds; ++round) {
    running_server web(sley_test::hello);
    // Each is connected and served before the server ends: a connection that it has not accepted is
    // the listener's, and is refused.
    std::vector<tcp_stream> all;
    for (int c = 0; c < clients; ++c) {
      all.push_back(web.connect());
      ASSERT_TRUE(has(ask_for_hello(all.back()), "hello"));
    }
    std::atomic<int> asked{0}, without_answer{0};
    sley::wait_group group;
    for (const tcp_stream& s : all) {
      group.go([&] {
        for (;;) {  // ends with the answer that says so
          const std::string answer = ask_for_hello(s);
          ++asked;
          if (answer.empty()) ++without_answer;
          if (answer.empty() || has(answer, "Connection: close\r\n")) return;
        }
      });
    }
    ASSERT_TRUE(eventually([&] { return asked > 5 * clients; }));
    EXPECT_TRUE(web.server.shutdown(in(10s)));
    group.wait();
    lost += without_answer;
  }
  // One that had no CPU for longer than the server waits.
  EXPECT_LE(lost, clients * rounds / 20);
}

namespace {

const std::string two_requests = get("/") + get("/");

// The second request comes while the server has no CPU: the server first sees that the time for it
// is over.
class late_peer final : public sley_test::memory_connection {
 public:
  explicit late_peer(std::string& written)
      : memory_connection(two_requests, two_requests.size() / 2, &written) {}

  const sley::chan<void>& idle() const { return idle_; }

  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) override {
    if (++reads_ != 2) return memory_connection::read_some(buffer, error);
    idle_.close();
    timed_.receive();
    error = std::make_error_code(std::errc::timed_out);
    return 0;
  }
  void set_read_deadline(sley::time_point) override {
    if (reads_ == 2 && !is_timed_.exchange(true)) timed_.close();
  }

 private:
  std::atomic<int> reads_{0};
  std::atomic<bool> is_timed_{false};
  const sley::chan<void> idle_;
  const sley::chan<void> timed_;
};

}  // namespace

GO_TEST(shutdown, an_idle_connection_answers_a_request_that_came_while_it_had_no_cpu) {
  sley::http::server server(sley_test::hello);
  std::string written;
  auto peer = std::make_unique<late_peer>(written);
  const sley::chan<void> idle = peer->idle();
  sley::wait_group group;
  group.go([&] { server.serve(std::move(peer)); });
  idle.receive();
  EXPECT_TRUE(server.shutdown(in(10s)));
  group.wait();
  const std::size_t second = written.find("HTTP/1.1 200", 1);
  ASSERT_NE(second, std::string::npos) << written;
  EXPECT_TRUE(has(written.substr(second), "Connection: close\r\n")) << written;
}

GO_TEST(shutdown, an_idle_connection_answers_a_request_that_has_come) {
  running_server web(sley_test::hello);
  const tcp_stream s = web.connect();
  EXPECT_TRUE(has(ask_for_hello(s), "hello"));
  const tcp_stream fresh = web.connect();
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 2; }));
  sley::wait_group group;
  group.go([&] { EXPECT_TRUE(web.server.shutdown(in(10s))); });
  const std::string last = ask_until_the_last_answer(s);  // none, if this end was late
  EXPECT_TRUE(last.empty() || has(last, "hello"));
  EXPECT_EQ(read_to_end(fresh), "");
  group.wait();
}

// ---- WebSockets ----

namespace {

constexpr std::string_view upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string going_away = {'\x88', '\x02', '\x03', '\xe9'};
const std::string clients_answer =
    std::string("\x88\x82", 2) + std::string(4, '\0') + std::string("\x03\xe9", 2);

tcp_stream open(const running_server& web) {
  tcp_stream s = web.connect();
  s.write_all(bytes_of(get("/", upgrade)));
  EXPECT_EQ(status_of(read_head(s)), 101);
  return s;
}

}  // namespace

GO_TEST(shutdown, closes_websockets_with_1001) {
  std::atomic<int> ended{0};
  running_server web([&](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    EXPECT_FALSE(ws.read());
    EXPECT_EQ(ws.close_code(), 1001);
    ++ended;
  });
  std::vector<tcp_stream> all;
  for (int i = 0; i < 10; ++i) all.push_back(open(web));
  sley::wait_group group;
  for (const tcp_stream& s : all) {
    group.go([&] {
      EXPECT_EQ(read_exactly(s, 4), going_away);
      s.write_all(bytes_of(clients_answer));
      EXPECT_EQ(read_to_end(s), "");
    });
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(web.server.shutdown(in(30s)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
  group.wait();
  EXPECT_EQ(ended, 10);
}

// Neither the peer answers, nor does the handler read.
GO_TEST(shutdown, ends_websockets_that_do_nothing) {
  std::atomic<int> ended{0};
  running_server web([&](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    if (in.path() == "/waits") {
      in.context().done().receive();
    } else {
      std::error_code error;
      EXPECT_FALSE(ws.read(error));
      EXPECT_EQ(error, std::errc::operation_canceled);
      ws.set_read_deadline(sley::time_point::max());
      EXPECT_FALSE(ws.read(error));  // and stays like that
      EXPECT_EQ(error, std::errc::operation_canceled);
    }
    std::error_code error;
    ws.write_text("too late", error);
    EXPECT_TRUE(in.path() == "/waits" || error == std::errc::broken_pipe);
    ++ended;
  });
  const tcp_stream reads = open(web);
  const tcp_stream waits = web.connect();
  waits.write_all(bytes_of(get("/waits", upgrade)));
  EXPECT_EQ(status_of(read_head(waits)), 101);
  EXPECT_TRUE(web.server.shutdown(in(30s)));
  EXPECT_EQ(read_exactly(reads, 4), going_away);
  EXPECT_EQ(ended, 2);
}

// The handshake comes when the server is on its way out.
GO_TEST(shutdown, a_websocket_that_begins_late_is_told_as_well) {
  const sley::chan<void> arrived, go_on;
  running_server web([=](request& in, response& out) {
    arrived.send();
    go_on.receive();
    websocket ws = websocket::accept(in, out);
    in.context().done().receive();
  });
  const tcp_stream s = web.connect();
  s.write_all(bytes_of(get("/", upgrade)));
  arrived.receive();
  EXPECT_FALSE(web.server.shutdown(in(1ms)));
  go_on.send();
  EXPECT_EQ(status_of(read_head(s)), 101);
  EXPECT_EQ(read_exactly(s, 4), going_away);
  EXPECT_TRUE(web.server.shutdown(in(30s)));
}

// Connections come, go and are upgraded while the server ends.
GO_TEST(shutdown, websockets_end_at_any_moment) {
  for (int i = 0; i < sley_test::rounds(30); ++i) {
    auto web = std::make_unique<running_server>([](request& in, response& out) {
      websocket ws = websocket::accept(in, out);
      std::error_code error;
      while (const auto m = ws.read(error)) ws.write_text(m->data, error);
    });
    sley::wait_group group;
    for (int c = 0; c < 4; ++c) {
      group.go([address = web->address] {
        std::error_code error;
        const tcp_stream s = tcp_stream::connect(address, error);
        if (!error) s.write_all(bytes_of(get("/", upgrade)), error);
        std::byte buffer[1024];
        if (!error) s.read_some(buffer, error);
        if (!error) s.write_all(bytes_of(clients_answer), error);
        while (!error && s.read_some(buffer, error) > 0) {
        }
      });
    }
    for (int n = 0; n < i; ++n) sley::this_goroutine::yield();
    EXPECT_TRUE(web->server.shutdown(in(30s)));
    web.reset();
    group.wait();
  }
}
