// What the client does with bodies that come with gzip. They were packed by gzip(1), or by our own
// server where they are large.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <memory>
#include <string>
#include <string_view>

using sley::http::client;
using sley::http::client_options;
using sley::http::client_request;
using sley::http::client_response;
using sley::http::errc;
using sley::http::request;
using sley::http::response;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::has;
using sley_test::read_head;
using sley_test::running_server;
using sley_test::scripted_server;

namespace {

using namespace std::string_literals;

// printf 'hello, hello, hello' | gzip -n9
const std::string packed =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x40\xa2"
    "\x00\x9f\xa1\xca\x09\x13\x00\x00\x00"s;
constexpr std::string_view hello = "hello, hello, hello";

std::string url_of(const running_server& web) { return "http://" + web.address + '/'; }

// Answers all requests with this body.
std::unique_ptr<running_server> gives(const std::string& body, std::string_view coding = "gzip") {
  return std::make_unique<running_server>([=](request&, response& out) {
    out.headers().set("Content-Encoding", coding);
    out.send(200, "text/plain", body);
  });
}

std::error_code error_for(const std::string& body) {
  const auto web = gives(body);
  client c;
  client_response r = c.get(url_of(*web));
  EXPECT_TRUE(r.is_uncompressed());
  std::error_code error;
  EXPECT_EQ(r.read_all(SIZE_MAX, error), "");
  return error;
}

}  // namespace

GO_TEST(decompression, undoes_gzip_and_hides_it) {
  const auto web = gives(packed);
  client c;
  for (int i = 0; i < 3; ++i) {
    client_response r = c.get(url_of(*web));
    EXPECT_TRUE(r.is_uncompressed());
    EXPECT_FALSE(r.headers().contains("Content-Encoding"));
    EXPECT_FALSE(r.headers().contains("Content-Length"));
    EXPECT_EQ(r.body().length(), std::nullopt);
    EXPECT_EQ(r.read_all(), hello);
    EXPECT_EQ(r.read_all(), "");
    EXPECT_EQ(c.idle_connections(), 1U);
  }
}

// However they are cut, and with trailers behind them.
GO_TEST(decompression, undoes_chunks_of_a_byte) {
  const scripted_server peer([](int, const tcp_stream& s) {
    for (;;) {  // ends when the client closes
      read_head(s);
      s.write_all(
          bytes_of("HTTP/1.1 200 OK\r\nContent-Encoding: GZIP\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n"));
      for (const char byte : packed) {
        s.write_all(bytes_of("1\r\n" + std::string(1, byte) + "\r\n"));
        sley::this_goroutine::yield();
      }
      s.write_all(bytes_of("0\r\nX-Sum: 42\r\n\r\n"));
    }
  });
  client c;
  client_response r = c.get(peer.url);
  std::string got;
  std::byte byte[1];
  while (r.body().read_some(byte) > 0) got += static_cast<char>(byte[0]);
  EXPECT_EQ(got, hello);
  EXPECT_EQ(r.trailers().get("X-Sum"), "42");
  EXPECT_EQ(c.get(peer.url).read_all(), hello);
}

GO_TEST(decompression, reads_several_streams_and_an_empty_one) {
  const auto two = gives(packed + packed);
  const auto none = gives("");
  client c;
  EXPECT_EQ(c.get(url_of(*two)).read_all(), std::string(hello).append(hello));
  EXPECT_EQ(c.get(url_of(*none)).read_all(), "");
}

GO_TEST(decompression, asks_only_where_it_may) {
  const running_server web([](request& in, response& out) {
    out.headers().set("X-Asked", in.header("Accept-Encoding"));
    out.headers().set("Content-Encoding", "gzip");
    out.send(200, "text/plain", packed);
  });
  client c;
  EXPECT_EQ(c.get(url_of(web)).header("X-Asked"), "gzip");
  const auto expect_as_it_comes = [&](client& by, client_request r, std::string_view asked) {
    r.url = url_of(web);
    client_response answer = by.send(r);
    EXPECT_EQ(answer.header("X-Asked"), asked);
    EXPECT_EQ(answer.header("Content-Encoding"), "gzip");
    EXPECT_EQ(answer.header("Content-Length"), std::to_string(packed.size()));
    EXPECT_FALSE(answer.is_uncompressed());
    EXPECT_EQ(answer.read_all(), r.method == "HEAD" ? "" : packed);
  };
  client_request r;
  r.headers.set("Accept-Encoding", "gzip");
  expect_as_it_comes(c, r, "gzip");
  r.headers.set("Accept-Encoding", "identity");
  expect_as_it_comes(c, r, "identity");
  r.headers.clear();
  r.headers.set("Range", "bytes=0-");
  expect_as_it_comes(c, r, "");
  expect_as_it_comes(c, {.method = "HEAD", .url = ""}, "");
  client plain({.decompress = false});
  expect_as_it_comes(plain, client_request(), "");
}

GO_TEST(decompression, leaves_other_codings) {
  for (const char* coding : {"br", "deflate", "gzip, gzip", "identity"}) {
    const auto web = gives(packed, coding);
    client c;
    client_response r = c.get(url_of(*web));
    EXPECT_FALSE(r.is_uncompressed()) << coding;
    EXPECT_EQ(r.header("Content-Encoding"), coding);
    EXPECT_EQ(r.read_all(), packed);
  }
}

GO_TEST(decompression, more_than_the_limit_of_read_all_stays_an_error) {
  const auto web = gives(packed);
  client c;
  client_response r = c.get(url_of(*web));
  std::error_code error;
  EXPECT_EQ(r.read_all(hello.size() - 1, error), "");
  EXPECT_EQ(error, errc::body_too_large);
  EXPECT_EQ(r.read_all(hello.size(), error), "");
  EXPECT_EQ(error, errc::body_too_large);
}

GO_TEST(decompression, reports_a_malformed_or_truncated_stream) {
  EXPECT_EQ(error_for("hello"), errc::malformed);
  EXPECT_EQ(error_for(packed + "hello"), errc::malformed);
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 5] ^= 1;
  EXPECT_EQ(error_for(wrong_sum), errc::malformed);
  for (std::size_t size = 1; size < packed.size(); ++size) {
    EXPECT_EQ(error_for(packed.substr(0, size)), errc::incomplete) << size;
  }
}

GO_TEST(decompression, a_bomb_ends_at_the_limit) {
  const running_server web(sley::http::compress()([](request&, response& out) {
    const std::string zeros(1 << 20, '\0');
    out.headers().set("Content-Type", "text/plain");
    for (int i = 0; i < 2; ++i) out.write(zeros);
  }));
  client c({.body_bytes = 1 << 20});
  client_response r = c.get(url_of(web));
  std::error_code error;
  r.read_all(SIZE_MAX, error);
  EXPECT_EQ(error, errc::body_too_large);

  r = c.get(url_of(web));
  r.body().set_limit(2 << 20);
  EXPECT_EQ(r.read_all().size(), 2U << 20);
  r = c.get(url_of(web));
  r.body().set_limit((2 << 20) - 1);
  r.read_all(SIZE_MAX, error);
  EXPECT_EQ(error, errc::body_too_large);
}

// The body of an answer may be dropped at any point.
GO_TEST(decompression, needs_not_be_read) {
  const auto web = gives(packed);
  client c;
  for (int i = 0; i < 3; ++i) c.get(url_of(*web));
  EXPECT_EQ(c.get(url_of(*web)).read_all(), hello);
}
