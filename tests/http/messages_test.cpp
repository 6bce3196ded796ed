// What an exception says when an argument is refused: the text names the thing and what is wrong
// with it.
#include "support/web.hpp"

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using sley::http::client;
using sley::http::client_request;
using sley::http::handler;
using sley::http::request;
using sley::http::response;
using sley::http::websocket;
using sley_test::get;
using sley_test::running_server;

namespace {

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string refusal_of(client_request r) {
  return message_of([&] { (void)client().send(std::move(r)); });
}

constexpr const char* url = "http://127.0.0.1:1/";

client_request with_header(const char* name, const char* value) {
  client_request r{.url = url};
  r.headers.set(name, value);
  return r;
}

// The message that the call of a handler ends with.
std::string refusal_by(const std::function<void(response&)>& call) {
  std::string message;
  const running_server web(
      [&](request&, response& out) { message = message_of([&] { call(out); }); });
  (void)web.exchange(get("/"));
  return message;
}

}  // namespace

GO_TEST(http_messages, a_refused_request_says_why) {
  EXPECT_EQ(refusal_of({.method = "CONNECT", .url = url}),
            "sley: a client can't send a request of the method \"CONNECT\"");
  EXPECT_EQ(refusal_of({.method = "GE T", .url = url}),
            "sley: a client can't send a request of the method \"GE T\"");
  EXPECT_EQ(refusal_of(with_header("Transfer-Encoding", "chunked")),
            "sley: a client sets Content-Length and Transfer-Encoding of a request itself");
  EXPECT_EQ(refusal_of(with_header("Host", "a b")),
            "sley: a request needs one valid Host, not \"a b\"");
  EXPECT_EQ(refusal_of({.method = "TRACE", .url = url, .body = "x"}),
            "sley: a TRACE request can't have a body");
  EXPECT_EQ(message_of([] { client({.user_agent = "a\nb"}); }),
            "sley: client_options::user_agent has control characters: \"a\\nb\"");
}

GO_TEST(http_messages, a_refused_answer_says_why) {
  EXPECT_EQ(refusal_by([](response& out) { out.set_status(42); }),
            "sley: the status of a response is not 200 to 999 but 42");
  EXPECT_EQ(refusal_by([](response& out) {
              out.write("x");
              out.send(200, "", "y");
            }),
            "sley: send() of a response that has a body already");
  EXPECT_EQ(refusal_by([](response& out) {
              out.write("x");
              out.flush();
              out.set_status(404);
            }),
            "sley: the status of a response can't change after its head was sent");
}

GO_TEST(http_messages, a_refused_setting_says_why) {
  EXPECT_EQ(message_of([] { sley::http::compress({.level = 10}); }),
            "sley: compress_options::level is not 1 to 9 but 10");
  EXPECT_EQ(message_of([] { const sley::http::server none(nullptr); }),
            "sley: the handler of a server is empty");
  sley::http::router routes;
  EXPECT_EQ(message_of([&] { routes.get("/a", nullptr); }),
            "sley: the handler for \"GET /a\" is empty");
  EXPECT_EQ(message_of([&] { routes.use([](const handler&) { return handler(); }); }),
            "sley: a middleware returned an empty handler");
}

GO_TEST(http_messages, a_refused_close_of_a_websocket_names_the_code_or_the_reason) {
  std::vector<std::string> messages;
  const running_server web([&](request& in, response& out) {
    websocket ws = websocket::accept(in, out);
    messages = {message_of([&] { ws.close(1005); }), message_of([&] { ws.close(1000, "\xff"); }),
                message_of([&] { ws.close(1000, std::string(124, 'x')); }),
                message_of([&] { ws.ping(std::string(126, 'x')); })};
  });
  (void)web.exchange(
      get("/",
          "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  const std::string reason =
      "sley: the reason to close a WebSocket with is not UTF-8 of at most 123 bytes";
  EXPECT_EQ(messages, (std::vector<std::string>{
                          "sley: a WebSocket can't be closed with the code 1005", reason, reason,
                          "sley: the data of a WebSocket ping are more than 125 bytes"}));
}
