// Limits count what comes over the wire: the framing of chunks and of WebSocket's frames as well.
// Each peer here sends for ever, and counts how much is taken.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <string>
#include <system_error>

using sley::http::client;
using sley::http::errc;
using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley::net::tcp_stream;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::get;
using sley_test::post;
using sley_test::running_server;
using sley_test::scripted_server;
using sley_test::status_of;

namespace {

// What buffers of two sockets take, and a server that lingers: by far less than what a server would
// read that has no limit, before the test ends.
constexpr std::size_t most_taken = 32 << 20;
constexpr std::size_t endless = 256 << 20;

// Sends the text again and again. Returns how many bytes were taken.
std::size_t send_endlessly(const tcp_stream& s, std::string_view text) {
  std::error_code error;
  std::size_t sum = 0;
  std::string many(text);
  while (many.size() < 64 << 10) many += text;
  while (sum < endless && !error) sum += s.write_all(bytes_of(many), error);
  return sum;
}

std::string chunk_with_extension(std::size_t bytes) {
  return "1;a=" + std::string(bytes, 'x') + "\r\ny\r\n";
}

constexpr std::string_view chunked = "Transfer-Encoding: chunked\r\n";

std::string answer_to(const running_server& web, std::string_view head, std::string_view text) {
  const tcp_stream s = web.connect();
  s.write_all(bytes_of(head));
  sley::wait_group reading;
  std::string answer;
  reading.go([&] {
    std::byte buffer[4096];
    std::error_code error;
    while (const std::size_t n = s.read_some(buffer, error)) {
      answer.append(reinterpret_cast<const char*>(buffer), n);
    }
  });
  EXPECT_LT(send_endlessly(s, text), most_taken) << text.substr(0, 40);
  reading.wait();
  return answer;
}

void read_all(request& in, response& out) {
  out.send(200, "text/plain", std::to_string(in.body().read_all().size()));
}

}  // namespace

GO_TEST(wire_limits, a_body_that_is_skipped_counts_with_its_framing) {
  const running_server web(sley_test::hello);
  for (const std::string& chunk :
       {chunk_with_extension(60'000), std::string(60'000, '0') + "1\r\ny\r\n",
        chunk_with_extension(20), std::string("1\r\ny\r\n")}) {
    EXPECT_EQ(status_of(answer_to(web, post(chunked, ""), chunk)), 200);
  }
}

GO_TEST(wire_limits, a_body_that_is_read_counts_with_its_framing) {
  const running_server web(&read_all, {.body_bytes = 1 << 20});
  EXPECT_EQ(status_of(answer_to(web, post(chunked, ""), chunk_with_extension(60'000))), 400);
  EXPECT_EQ(status_of(answer_to(web, post(chunked, ""), chunk_with_extension(20))), 400);
  EXPECT_EQ(status_of(answer_to(web, post(chunked, ""), "1\r\ny\r\n")), 413);
  EXPECT_EQ(status_of(answer_to(web, post(chunked, ""), "A;abc\r\n0123456789\r\n")), 413);
}

GO_TEST(wire_limits, small_chunks_within_the_limit_are_taken) {
  const running_server web(&read_all, {.body_bytes = 1 << 20});
  std::string body;
  for (int i = 0; i < 100'000; ++i) body += "1\r\ny\r\n";
  EXPECT_EQ(body_of(web.exchange(post(chunked, body + "0\r\n\r\n"))), "100000");
  body.clear();
  for (int i = 0; i < 200; ++i) body += chunk_with_extension(100);
  EXPECT_EQ(body_of(web.exchange(post(chunked, body + "0\r\n\r\n"))), "200");
}

// Bodies of a length are skipped up to 256 KiB; chunks as well, with the connection kept.
GO_TEST(wire_limits, a_small_body_is_skipped) {
  const running_server web(sley_test::hello);
  const std::string some = chunk_with_extension(60'000) + chunk_with_extension(60'000);
  const std::string answers = web.exchange(post(chunked, some + "0\r\n\r\n") + get("/"));
  EXPECT_EQ(sley_test::count_of(answers, "HTTP/1.1 200 "), 2) << answers;
}

GO_TEST(wire_limits, a_client_counts_the_framing_as_well) {
  for (const std::string& chunk : {chunk_with_extension(60'000), chunk_with_extension(20)}) {
    std::size_t sent = 0;
    sley::chan<void> done;
    const scripted_server peer([&, done](int, const tcp_stream& s) {
      sley_test::read_head(s);
      s.write_all(bytes_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
      sent = send_endlessly(s, chunk);
      done.close();
    });
    client c;
    std::error_code error;
    auto r = c.get(peer.url);
    r.read_all(SIZE_MAX, error);
    EXPECT_EQ(error, errc::malformed);
    done.receive();
    EXPECT_LT(sent, most_taken);
  }
}

// ---- WebSocket ----

namespace {

constexpr std::string_view upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string mask(4, '\0');

std::string close_code(int code) {
  return {'\x88', '\x02', static_cast<char>(code >> 8), static_cast<char>(code)};
}

void read_messages(request& in, response& out) {
  websocket ws = websocket::accept(in, out, {.message_bytes = 10'000});
  std::error_code error;
  while (ws.read(error)) {
  }
}

}  // namespace

GO_TEST(wire_limits, fragments_of_a_message_count_with_their_heads) {
  const running_server web(&read_messages);
  const std::string begin = get("/", upgrade) + "\x01\x81" + mask + "x";
  const std::string empty = std::string("\x00\x80", 2) + mask;
  const std::string pong = "\x8a\x80" + mask;
  for (const std::string& endless_part : {empty, pong, empty + pong}) {
    const std::string answer = answer_to(web, begin, endless_part);
    EXPECT_TRUE(answer.ends_with(close_code(1009))) << answer.size();
  }
}

GO_TEST(wire_limits, small_fragments_within_the_limit_are_taken) {
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out, {.message_bytes = 10'000});
    ws.write_text(std::to_string(ws.read()->data.size()));
  });
  std::string frames = "\x01\x81" + mask + "x";
  for (int i = 0; i < 5'000; ++i) frames += std::string("\x00\x81", 2) + mask + "x";
  frames += "\x80\x80" + mask;
  const std::string answer = web.exchange(get("/", upgrade) + frames);
  EXPECT_TRUE(sley_test::has(answer, "5001")) << answer;
}
