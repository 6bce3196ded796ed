// RFC 6455, WebSocket, section by section: the handshake and what frames may carry, as far as no
// other test shows it. README.md beside this file has the table of all requirements.
#include "support/web.hpp"

#include <string>
#include <string_view>

using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley_test::bytes_of;
using sley_test::count_of;
using sley_test::get;
using sley_test::has;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::running_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

const std::string key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string version = "Sec-WebSocket-Version: 13\r\n";
const std::string connection = "Connection: Upgrade\r\n";
const std::string upgrade = "Upgrade: websocket\r\n";
const std::string good = connection + upgrade + version + key;

void accept_any(request& in, response& out) {
  const websocket ws = websocket::accept(in, out, {.protocols = "chat, superchat"});
}

// Every refusal of this test leaves the connection one for HTTP.
class asked {
 public:
  std::string operator()(const std::string& lines) const { return web_.exchange(get("/", lines)); }
  std::string raw(const std::string& bytes) const { return web_.exchange(bytes); }

 private:
  const running_server web_{accept_any};
};

}  // namespace

// ---- 4: the handshake ----

GO_TEST(rfc6455, a_handshake_is_a_get_of_http_1_1) {
  const asked ask;
  EXPECT_EQ(status_of(ask(good)), 101);
  EXPECT_EQ(status_of(ask.raw("GET / HTTP/1.0\r\nHost: a\r\n" + good + "\r\n")), 426);
  for (const char* method : {"POST", "HEAD", "PUT", "get", "X"}) {
    const std::string answer = ask.raw(method + " / HTTP/1.1\r\nHost: a\r\n"s + good + "\r\n");
    EXPECT_EQ(status_of(answer), 405) << method;
    EXPECT_TRUE(has(answer, "\r\nAllow: GET\r\n")) << answer;
    EXPECT_FALSE(has(answer, "Upgrade")) << answer;
  }
}

GO_TEST(rfc6455, a_handshake_has_a_host) {
  const asked ask;
  EXPECT_EQ(status_of(ask.raw("GET / HTTP/1.1\r\n" + good + "\r\n")), 400);
}

// Its bytes would be taken for frames, or its frames for a body.
GO_TEST(rfc6455, a_handshake_has_no_body) {
  const asked ask;
  EXPECT_EQ(status_of(ask(good + "Content-Length: 0\r\n")), 101);
  const std::string frame = "\x81\x81\x01\x02\x03\x04y";
  for (const std::string& body :
       {"Content-Length: 7\r\n\r\n" + frame,
        "Transfer-Encoding: chunked\r\n\r\n7\r\n" + frame + "\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s}) {
    const std::string answer = ask.raw("GET / HTTP/1.1\r\nHost: a\r\n" + good + body);
    EXPECT_EQ(status_of(answer), 400) << body;
    EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1) << answer;
  }
}

// With what the client needs to try again (RFC 9110, 7.8 and 15.5.22).
GO_TEST(rfc6455, a_request_without_a_handshake_gets_426_with_the_required_fields) {
  const asked ask;
  for (const std::string& lines :
       {""s, upgrade + version + key, connection + version + key,
        "Connection: keep-alive\r\n" + upgrade + version + key,
        connection + "Upgrade: h2c\r\n" + version + key,
        connection + "Upgrade: websockets\r\n" + version + key, connection + upgrade + key,
        connection + upgrade + "Sec-WebSocket-Version: 8\r\n" + key,
        connection + upgrade + "Sec-WebSocket-Version: 13, 8\r\n" + key,
        connection + upgrade + "Sec-WebSocket-Version: 013\r\n" + key}) {
    const std::string answer = ask(lines);
    EXPECT_EQ(status_of(answer), 426) << lines;
    EXPECT_TRUE(has(answer, "\r\nUpgrade: websocket\r\n")) << answer;
    EXPECT_TRUE(has(answer, "\r\nConnection: Upgrade\r\n")) << answer;
    EXPECT_TRUE(has(answer, "\r\nSec-WebSocket-Version: 13\r\n")) << answer;
  }
}

GO_TEST(rfc6455, tokens_of_the_handshake_are_found_in_lists_of_any_case) {
  const asked ask;
  EXPECT_EQ(status_of(ask("Connection: keep-alive, uPGRADE\r\nUpgrade: h2c, WebSocket\r\n" +
                          version + key)),
            101);
  EXPECT_EQ(
      status_of(ask("Connection: keep-alive\r\nConnection: Upgrade\r\n" + upgrade + version + key)),
      101);
}

GO_TEST(rfc6455, a_key_is_16_bytes_in_base64_and_comes_once) {
  const asked ask;
  for (const char* bad :
       {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZR==",
        "dGhlIHNhbXBsZSBub25j!Q==", "dGhlIHNhbXBsZSBub25jZ===", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "dGhlIHNhbXBsZSBub25jZQ==x", "dGhlIHNhbXBs ZSBub25jZQ=", "========================"}) {
    EXPECT_EQ(status_of(ask(connection + upgrade + version + "Sec-WebSocket-Key: " + bad + "\r\n")),
              400)
        << bad;
  }
  EXPECT_EQ(status_of(ask(connection + upgrade + version)), 400);
  EXPECT_EQ(status_of(ask(good + key)), 400);
  EXPECT_EQ(status_of(ask(good + version)), 400);
  EXPECT_EQ(status_of(ask(connection + upgrade + version +
                          "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")),
            101);
}

GO_TEST(rfc6455, protocols_are_told_apart_by_case) {
  const asked ask;
  const std::string name = "Sec-WebSocket-Protocol: ";
  EXPECT_TRUE(has(ask(good + name + "superchat, chat\r\n"), "\r\n" + name + "chat\r\n"));
  EXPECT_TRUE(
      has(ask(good + name + "x\r\n" + name + "superchat\r\n"), "\r\n" + name + "superchat"));
  EXPECT_FALSE(has(ask(good + name + "Chat\r\n"), name));
  EXPECT_FALSE(has(ask(good + name + "other\r\n"), name));
  EXPECT_FALSE(has(ask(good), name));
}

GO_TEST(rfc6455, no_extension_is_ever_agreed_on) {
  const asked ask;
  const std::string answer = ask(good + "Sec-WebSocket-Extensions: permessage-deflate\r\n");
  EXPECT_EQ(status_of(answer), 101);
  EXPECT_FALSE(has(answer, "Sec-WebSocket-Extensions")) << answer;
}

GO_TEST(rfc6455, an_answer_to_the_handshake_is_complete) {
  const asked ask;
  const std::string answer = ask(good);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nUpgrade: websocket\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nConnection: Upgrade\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")) << answer;
  EXPECT_FALSE(has(answer, "Content-Length")) << answer;
}

// ---- 5 to 8: frames ----

GO_TEST(rfc6455, a_server_masks_nothing) {
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    ws.write_text("hello");
    ws.ping("p");
  });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/", good)));
  EXPECT_EQ(status_of(read_head(s)), 101);
  EXPECT_EQ(read_exactly(s, 7), "\x81\x05hello");
  EXPECT_EQ(read_exactly(s, 3), "\x89\x01p");
  EXPECT_EQ(read_exactly(s, 4), "\x88\x02\x03\xe9");
}

GO_TEST(rfc6455, nothing_is_written_behind_a_close) {
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    ws.close(1000, "bye");
    EXPECT_THROW(ws.write_text("late"), std::system_error);
    EXPECT_THROW(ws.ping(), std::system_error);
    ws.close(1001);  // not a second time
  });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/", good)));
  read_head(s);
  EXPECT_EQ(read_exactly(s, 7), "\x88\x05\x03\xe8"s + "bye");
  s.write_all(bytes_of(std::string("\x88\x80\x01\x02\x03\x04", 6)));
  EXPECT_EQ(sley_test::read_to_end(s), "");
}

GO_TEST(rfc6455, a_close_has_a_code_that_may_be_sent_and_a_reason_in_utf8) {
  const running_server web([](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65'535}) {
      EXPECT_THROW(ws.close(static_cast<std::uint16_t>(code)), std::invalid_argument) << code;
    }
    EXPECT_THROW(ws.close(1000, "\xff"), std::invalid_argument);
    EXPECT_THROW(ws.close(1000, std::string(124, 'x')), std::invalid_argument);
    ws.close(4999, "\xc3\xa4");
  });
  const auto s = web.connect();
  s.write_all(bytes_of(get("/", good)));
  read_head(s);
  EXPECT_EQ(read_exactly(s, 6), "\x88\x04\x13\x87\xc3\xa4");
}
