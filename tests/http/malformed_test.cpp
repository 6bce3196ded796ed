// Requests that break the rules. Each is sent as bytes, and gets the right status and the end of
// the connection: what follows in the same stream is never taken for a request (that would be
// smuggling).
#include "support/web.hpp"

#include <string>
#include <utility>
#include <vector>

using sley::http::request;
using sley::http::response;
using sley_test::count_of;
using sley_test::get;
using sley_test::has;
using sley_test::post;
using sley_test::running_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

const std::string smuggled = "GET /smuggled HTTP/1.1\r\nHost: test\r\n\r\n";

// Answers with what it understood.
void echo(request& in, response& out) {
  const std::string body = in.body().read_all();
  out.send(200, "text/plain", std::string(in.path()) + " [" + body + "]");
}

struct bad_request {
  int status;
  std::string bytes;
};

void expect_refusals(const std::vector<bad_request>& all) {
  const running_server web(echo);
  for (const auto& [status, bytes] : all) {
    const std::string answer = web.exchange(bytes + smuggled);
    EXPECT_EQ(status_of(answer), status) << bytes << "\n" << answer;
    EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1) << bytes << "\n" << answer;
    EXPECT_TRUE(has(answer, "Connection: close\r\n")) << bytes << "\n" << answer;
  }
}

}  // namespace

GO_TEST(malformed, request_lines) {
  expect_refusals({
      {400, "\r\n\r\n\r\n\r\n\r\n\r\n"},
      {400, " GET / HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET  / HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET / \r\nHost: test\r\n\r\n"},
      {400, "GET /\r\nHost: test\r\n\r\n"},
      {400, "GET\r\nHost: test\r\n\r\n"},
      {400, "G(T / HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "G\tT / HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET /a b HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET /\x01 HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET /%4 HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET /%zz HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET x HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET * HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET http:// HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET http://user@host/ HTTP/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET / HTTP/1.1 x\r\nHost: test\r\n\r\n"},
      {400, "GET / http/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET / HTTX/1.1\r\nHost: test\r\n\r\n"},
      {400, "GET / HTTP/1.10\r\nHost: test\r\n\r\n"},
      {400, "\x16\x03\x01\x02\r\n\r\n"},
      {505, "GET / HTTP/2.0\r\nHost: test\r\n\r\n"},
      {505, "GET / HTTP/0.9\r\nHost: test\r\n\r\n"},
      {505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
  });
}

GO_TEST(malformed, header_lines) {
  expect_refusals({
      {400, get("/", "X : space before the colon\r\n")},
      {400, get("/", " X: space before the name\r\n")},
      {400, get("/", "X\r\n")},
      {400, get("/", ": no name\r\n")},
      {400, get("/", "X(y): no token\r\n")},
      {400, get("/", "X: a\r\n continued\r\n")},
      {400, get("/", "X: a\r\n\tcontinued\r\n")},
      {400, get("/", "X:\r\n continued\r\n")},
      {400, get("/", "X: a\nY: b\r\n")},
      {400, get("/", "X: a\rY: b\r\n")},
      {400, get("/", "X: a\r\r\n")},
      {400, get("/", "X: "s + '\0' + "\r\n")},
      {400, get("/", "X: \x7f\r\n")},
      {400, "GET / HTTP/1.1\nHost: test\n\n"},
      {400, "GET / HTTP/1.1\r\nHost: test\r\n\n"},
      {400, "GET / HTTP/1.1\r\n Host: test\r\n\r\n"},
      {417, get("/", "Expect: the impossible\r\n")},
  });
}

GO_TEST(malformed, hosts) {
  expect_refusals({
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n"},
      {400, "GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
  });
}

// Whatever two programs in a row could understand in two ways.
GO_TEST(malformed, framing) {
  expect_refusals({
      {400, post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {400, post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "0\r\n\r\n")},
      {400, post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc")},
      {400, post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc")},
      {400, post("Content-Length: 3, 3\r\n", "abc")},
      {400, post("Content-Length: +3\r\n", "abc")},
      {400, post("Content-Length: -3\r\n", "abc")},
      {400, post("Content-Length: 3 0\r\n", "abc")},
      {400, post("Content-Length: 0x3\r\n", "abc")},
      {400, post("Content-Length:\r\n", "abc")},
      {400, post("Content-Length: 99999999999999999999\r\n", "abc")},
      {400, post("Content-Length: 18446744073709551616\r\n", "abc")},
      {400, post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")},
      {400, post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")},
      {400, post("Transfer-Encoding: \x0b"
                 "chunked\r\n",
                 "0\r\n\r\n")},
      {400, post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")},
      {501, post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
      {400, post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n")},
      {400, post("Transfer-Encoding: identity\r\n", "")},
      {400, post("Transfer-Encoding:\r\n", "")},
      {400, "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
  });
}

// The handler's read fails, and that is the answer.
GO_TEST(malformed, chunks) {
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  expect_refusals({
      {400, post(chunked, "x\r\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "\r\n0\r\n\r\n")},
      {400, post(chunked, "-1\r\na\r\n0\r\n\r\n")},
      {400, post(chunked, "0x1\r\na\r\n0\r\n\r\n")},
      {400, post(chunked, "3 \r\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "3\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "3\r\nabcd\r\n0\r\n\r\n")},
      {400, post(chunked, "3\r\nabc\n0\r\n\r\n")},
      {400, post(chunked, "3\r\nabc0\r\n\r\n")},
      {400, post(chunked, "10000000000000000\r\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "3;\r\nabc\r\n0\r\n\r\n")},
      {400, post(chunked, "0\r\nbad trailer\r\n\r\n")},
  });
}

GO_TEST(malformed, chunk_headers_and_trailers_have_an_end) {
  const running_server web(echo, {.header_bytes = 2048});
  const std::string long_extension = "3;a=" + std::string(10'000, 'x');
  EXPECT_EQ(status_of(web.exchange(post("Transfer-Encoding: chunked\r\n", long_extension))), 400);
  const std::string long_trailer = "0\r\nX: " + std::string(10'000, 'x');
  EXPECT_EQ(status_of(web.exchange(post("Transfer-Encoding: chunked\r\n", long_trailer))), 400);
}

GO_TEST(malformed, an_unusual_but_valid_request_is_taken) {
  const running_server web(echo);
  for (const std::string& bytes : {
           "\r\n\r\n" + get("/x"),
           get("/x", "X:\r\n"),
           get("/x", "X:no space\r\n"),
           get("/x", "X: \t spaces \t \r\n"),
           get("/x", "X: \xc3\xa4\r\n"),
           get("/x", "Content-Length: 0\r\n"),
           "GET /x HTTP/1.1\r\nHost:\r\n\r\n"s,
           "GET http://other:80/x?y HTTP/1.1\r\nHost: test\r\n\r\n"s,
           "GET /x HTTP/1.0\r\n\r\n"s,
           "M-SEARCH /x HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"s,
       }) {
    const std::string answer = web.exchange(bytes);
    EXPECT_EQ(status_of(answer), 200) << bytes << answer;
    EXPECT_TRUE(has(answer, "/x []")) << bytes << answer;
  }
}

// However it is cut into pieces.
GO_TEST(malformed, refusals_do_not_depend_on_how_the_bytes_come) {
  const running_server web(echo);
  const std::string bytes = get("/", "X: a\r\n continued\r\n");
  for (std::size_t cut = 1; cut < bytes.size(); cut += 3) {
    const auto s = web.connect();
    s.write_all(sley_test::bytes_of(std::string_view(bytes).substr(0, cut)));
    sley::this_goroutine::yield();
    std::error_code error;  // the refusal may come before the rest
    s.write_all(sley_test::bytes_of(std::string_view(bytes).substr(cut)), error);
    EXPECT_EQ(status_of(sley_test::read_to_end(s)), 400) << cut;
  }
}
