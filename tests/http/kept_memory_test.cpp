// What an idle connection keeps has a bound, whatever it had to hold before: 16 KiB more than one
// that never held much. Counted is what malloc has given out.
#include "support/memory.hpp"
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using sley::http::client;
using sley::http::client_response;
using sley::http::request;
using sley::http::response;
using sley::net::tcp_stream;
using sley_test::allocated_memory;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::post;
using sley_test::running_server;
using sley_test::status_of;

namespace {

constexpr std::size_t most_kept = 16 << 10;
constexpr int connections = 20;

std::string many_fields(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += "a:\r\n";
  return text;
}

void answer(request& in, response& out) {
  if (in.path() == "/large-head") {
    for (int i = 0; i < 5'000; ++i) out.headers().add("X-" + std::to_string(i), "value");
  }
  if (in.path() == "/text") return out.send(200, "text/plain", std::string(8'000, 'x'));
  if (in.path() == "/long") return out.send(200, "text/plain", std::string(1 << 20, 'x'));
  in.query_parameters();
  in.body().read_all();
  out.headers().set("X-Length", in.target().size());
  out.send(200, "text/plain", "hello");
}

// Reads one answer that has a Content-Length or ends in the last chunk.
void read_answer(const tcp_stream& s) {
  const std::string head = sley_test::read_head(s);
  ASSERT_EQ(status_of(head), 200);
  constexpr std::string_view length = "Content-Length: ";
  const std::size_t at = head.find(length);
  if (at != std::string::npos) {
    sley_test::read_exactly(s, std::stoul(head.substr(at + length.size())));
    return;
  }
  std::string body;
  while (!body.ends_with("0\r\n\r\n")) body += sley_test::read_exactly(s, 1);
}

// What a connection keeps of such requests, on the average of some connections.
std::size_t kept_of(const running_server& web, const std::string& text) {
  std::vector<tcp_stream> all;
  all.reserve(connections);
  for (int i = 0; i < connections; ++i) all.push_back(web.connect());
  for (const tcp_stream& s : all) {  // the first one of a process makes tables and the like
    s.write_all(bytes_of(get("/")));
    read_answer(s);
  }
  const std::size_t before = allocated_memory();
  for (const tcp_stream& s : all) {
    s.write_all(bytes_of(text));
    read_answer(s);
  }
  std::size_t kept = SIZE_MAX;  // a session lets go after its answer
  const bool is_little = eventually([&] {
    const std::size_t now = allocated_memory();
    kept = std::min(kept, (now > before ? now - before : 0) / connections);
    return kept <= most_kept;
  });
  EXPECT_TRUE(is_little);
  return kept;
}

}  // namespace

GO_TEST(kept_memory, of_requests_and_answers_little_is_kept) {
  sley::http::router routes;
  routes.handle("", "/packed", sley::http::compress()([](request&, response& out) {
                  out.send(200, "text/plain", std::string(100'000, 'x'));
                }));
  routes.handle("", "/{path...}", &answer);
  const running_server web(routes, {.target_bytes = 60'000});
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  for (const std::string& text :
       {get("/", many_fields(15'900)), get("/", "X: " + std::string(63'000, 'x') + "\r\n"),
        get("/" + std::string(50'000, 'x')), get("/%41" + std::string(50'000, 'x')),
        get("/?" + std::string(50'000, 'x')), get("/large-head"), get("/text"), get("/long"),
        std::string(50'000, 'M') + " / HTTP/1.1\r\nHost: test\r\n\r\n",
        get("/packed", "Accept-Encoding: gzip\r\n"),
        post("Content-Length: 1000000\r\n", std::string(1'000'000, 'x')),
        post(chunked, "5\r\nhello\r\n0\r\n" + many_fields(10'000) + "\r\n")}) {
    EXPECT_LE(kept_of(web, text), most_kept) << text.substr(0, 60);
  }
}

GO_TEST(kept_memory, a_websocket_lets_go_of_messages_it_has_read) {
  const running_server web([](request& in, response& out) {
    auto ws = sley::http::websocket::accept(in, out);
    while (const auto m = ws.read()) ws.write_text("ok");
  });
  std::vector<tcp_stream> all;
  for (int i = 0; i < connections; ++i) {
    all.push_back(web.connect());
    all.back().write_all(
        bytes_of(get("/",
                     "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")));
    EXPECT_EQ(status_of(sley_test::read_head(all.back())), 101);
  }
  const std::string frame =
      std::string("\x82\xff\0\0\0\0\0\x0f\x42\x40\0\0\0\0", 14) + std::string(1'000'000, 'x');
  const std::size_t before = allocated_memory();
  for (const tcp_stream& s : all) {
    s.write_all(bytes_of(frame));
    EXPECT_EQ(sley_test::read_exactly(s, 4), "\x81\x02ok");
  }
  EXPECT_TRUE(eventually([&] { return allocated_memory() <= before + connections * most_kept; }));
}

GO_TEST(kept_memory, of_a_clients_answers_little_is_kept) {
  const sley_test::scripted_server peer([](int, const tcp_stream& s) {
    for (bool is_first = true;; is_first = false) {  // ends with the connection
      sley_test::read_head(s);
      s.write_all(bytes_of("HTTP/1.1 200 OK\r\n" + many_fields(is_first ? 0 : 15'000) +
                           "Content-Length: 2\r\n\r\nok"));
    }
  });
  client c;
  const auto ask_at_once = [&] {
    std::vector<client_response> all;
    for (int i = 0; i < connections; ++i) all.push_back(c.get(peer.url));
    for (client_response& r : all) EXPECT_EQ(r.read_all(), "ok");
  };
  ask_at_once();
  ASSERT_TRUE(eventually([&] { return c.idle_connections() == connections; }));
  const std::size_t before = allocated_memory();
  ask_at_once();
  ASSERT_TRUE(eventually([&] { return c.idle_connections() == connections; }));
  EXPECT_TRUE(eventually([&] { return allocated_memory() <= before + connections * most_kept; }));
}
