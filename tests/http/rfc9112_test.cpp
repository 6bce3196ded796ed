// RFC 9112, the messages of HTTP/1.1, section by section: what no other test shows. README.md
// beside this file has the table of all requirements with the test of each.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using sley::http::client;
using sley::http::client_request;
using sley::http::client_response;
using sley::http::errc;
using sley::http::request;
using sley::http::response;
using sley::net::tcp_stream;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::count_of;
using sley_test::get;
using sley_test::has;
using sley_test::post;
using sley_test::read_head;
using sley_test::request_of;
using sley_test::running_server;
using sley_test::scripted_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

// What a client makes of these bytes, which end the connection.
struct outcome {
  std::error_code error;
  int status = 0;
  std::string x;  // the field of that name
  std::string body;
  std::size_t kept = 0;  // connections
};

outcome outcome_of(const std::string& answer, std::string method = "GET") {
  const scripted_server peer([&](int, const tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of(answer));
  });
  client c;
  outcome o;
  client_response r = c.send({.method = std::move(method), .url = peer.url}, o.error);
  if (o.error) return o;
  o.status = r.status();
  o.x = r.header("X");
  o.body = r.read_all(SIZE_MAX, o.error);
  o.kept = c.idle_connections();
  return o;
}

}  // namespace

// ---- 2 and 3: lines ----

GO_TEST(rfc9112, white_space_before_the_first_field_is_refused) {
  const running_server web(sley_test::hello);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.1\r\n Host: a\r\n\r\n")), 400);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.1\r\n\tX: a\r\nHost: a\r\n\r\n")), 400);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n")), 400);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\n X: a\r\n\r\n").error, errc::malformed);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\n\tX: a\r\nX: b\r\n\r\n").error, errc::malformed);
}

GO_TEST(rfc9112, methods_are_told_apart_by_case) {
  sley::http::router routes;
  routes.get("/", sley_test::hello);
  const running_server web(routes);
  EXPECT_EQ(status_of(web.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 200);
  EXPECT_EQ(status_of(web.exchange("get / HTTP/1.1\r\nHost: a\r\n\r\n")), 405);
}

GO_TEST(rfc9112, a_target_of_8000_bytes_is_taken) {
  const running_server web(sley_test::hello);
  EXPECT_EQ(status_of(web.exchange(get('/' + std::string(7999, 'a')))), 200);
  EXPECT_EQ(status_of(web.exchange(get('/' + std::string(20'000, 'a')))), 414);
}

GO_TEST(rfc9112, the_asterisk_is_for_options_alone) {
  const running_server web(sley_test::hello);
  EXPECT_EQ(status_of(web.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")), 200);
  EXPECT_EQ(status_of(web.exchange("GET * HTTP/1.1\r\nHost: a\r\n\r\n")), 400);
}

// A client sends Host with every request, first of all, and a path that is not empty.
GO_TEST(rfc9112, a_request_names_its_target_and_its_host) {
  const std::string head = request_of({.url = "?q"});
  EXPECT_TRUE(head.starts_with("GET /?q HTTP/1.1\r\nHost: 127.0.0.1:")) << head;
}

// ---- 4: status lines ----

GO_TEST(rfc9112, a_status_line_needs_no_phrase_and_no_space_for_it) {
  for (const char* line : {"HTTP/1.1 200", "HTTP/1.0 200", "HTTP/1.1 200 ", "HTTP/1.1 200 OK",
                           "HTTP/1.1 200  two spaces", "HTTP/1.1 200 \xc3\x9c\x62\x65r",
                           "HTTP/1.1 200 \xe9t\xe9", "HTTP/1.1 200 a\ttab"}) {
    const outcome o = outcome_of(line + "\r\nX: y\r\nContent-Length: 1\r\n\r\nb"s);
    EXPECT_FALSE(o.error) << line;
    EXPECT_EQ(o.status, 200) << line;
    EXPECT_EQ(o.x, "y") << line;
    EXPECT_EQ(o.body, "b") << line;
  }
  EXPECT_EQ(outcome_of("HTTP/1.1 100\r\n\r\nHTTP/1.1 204\r\n\r\n").status, 204);
}

GO_TEST(rfc9112, a_status_line_that_is_none_is_refused) {
  for (const char* line :
       {"HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 2", "HTTP/1.1 20", "HTTP/1.1 2000", "HTTP/1.1 200OK",
        "HTTP/1.1 200\tOK", "HTTP/1.1 200 a\x01", "HTTP/1.1 200 a\x7f", "HTTP/1.1 200 a\rb",
        "HTTP/1.1 -20 OK", "HTTP/1.1 0x2 OK", "http/1.1 200 OK", "HTTP/1 200 OK", "HTTP/1.1200 OK",
        "HTTP/2.0 200 OK", "ICY 200 OK"}) {
    EXPECT_EQ(outcome_of(line + "\r\nContent-Length: 0\r\n\r\n"s).error, errc::malformed) << line;
  }
}

GO_TEST(rfc9112, a_status_line_always_has_its_space) {
  const running_server web([](request&, response& out) { out.send(599, "", "x"); });
  EXPECT_TRUE(web.exchange(get("/")).starts_with("HTTP/1.1 599 \r\n"));
}

// ---- 5: fields ----

GO_TEST(rfc9112, a_server_refuses_fields_that_go_on_in_the_next_line) {
  const running_server web(sley_test::hello);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: a\r\n b\r\n"))), 400);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: a\r\n\tb\r\n"))), 400);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: a\r\n \r\n"))), 400);
}

GO_TEST(rfc9112, a_client_takes_fields_that_go_on_in_the_next_line) {
  const auto x_of = [](const std::string& lines) {
    const outcome o = outcome_of("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 2\r\n\r\nok");
    EXPECT_FALSE(o.error) << lines;
    EXPECT_EQ(o.body, "ok") << lines;
    return o.x;
  };
  EXPECT_EQ(x_of("X: a\r\n b\r\n"), "a   b");
  EXPECT_EQ(x_of("X: a\r\n\tb\r\n"), "a  \tb");
  EXPECT_EQ(x_of("X:\r\n b\r\n"), "b");
  EXPECT_EQ(x_of("X: a\r\n \r\n"), "a");
  EXPECT_EQ(x_of("Y: a\r\n X: no field\r\nX: c\r\n"), "c");
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\r\n\r\nb").body, "b");
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 1\r\n\r\nb").error,
            errc::malformed);
}

GO_TEST(rfc9112, no_white_space_stands_before_a_colon) {
  const running_server web(sley_test::hello);
  EXPECT_EQ(status_of(web.exchange(get("/", "X : a\r\n"))), 400);
  EXPECT_EQ(status_of(web.exchange(get("/", "X\t: a\r\n"))), 400);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nX : a\r\n\r\n").error, errc::malformed);
}

// ---- 6: where a body ends ----

// A coding that sley has not is another fault than a body whose end is uncertain.
GO_TEST(rfc9112, chunked_is_the_last_coding_of_a_request) {
  const running_server web(sley_test::echo_body);
  const auto ask = [&](const std::string& lines) {
    return status_of(web.exchange(post(lines, "0\r\n\r\n")));
  };
  EXPECT_EQ(ask("Transfer-Encoding: chunked\r\n"), 200);
  EXPECT_EQ(ask("Transfer-Encoding: , chunked ,\r\n"), 200);
  EXPECT_EQ(ask("Transfer-Encoding: CHUNKED\r\n"), 200);
  EXPECT_EQ(ask("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(ask("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 501);
  for (const char* value :
       {"gzip", "identity", "", "xchunked", "chunked, gzip", "chunked, identity",
        "chunked, chunked", "\"chunked\"", "chunked;a=b", "chunked gzip"}) {
    EXPECT_EQ(ask("Transfer-Encoding: "s + value + "\r\n"), 400) << value;
  }
}

GO_TEST(rfc9112, a_client_refuses_codings_that_are_not_ours) {
  for (const char* value : {"gzip", "gzip, chunked", "identity", "", "chunked, chunked"}) {
    EXPECT_EQ(
        outcome_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: "s + value + "\r\n\r\n0\r\n\r\n").error,
        errc::malformed)
        << value;
  }
}

GO_TEST(rfc9112, an_answer_without_a_body_ends_with_its_head) {
  EXPECT_EQ(outcome_of("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello").body, "");
  EXPECT_EQ(outcome_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello").body, "");
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD").body, "");
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD").body, "");
  EXPECT_EQ(outcome_of("HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n").body, "");
}

GO_TEST(rfc9112, a_body_of_unknown_length_ends_with_the_connection_and_is_the_last) {
  const outcome o = outcome_of("HTTP/1.1 200 OK\r\n\r\nall of it");
  EXPECT_EQ(o.body, "all of it");
  EXPECT_EQ(o.kept, 0U);
}

GO_TEST(rfc9112, an_answer_that_ends_too_soon_is_an_error) {
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").error, errc::incomplete);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").error,
            errc::incomplete);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nContent-Len").error, errc::incomplete);
}

GO_TEST(rfc9112, a_handler_does_not_choose_the_framing) {
  const running_server web(
      [](request&, response& out) {
        out.headers().set("Transfer-Encoding", "chunked");
        out.headers().set("Content-Length", 1);
        out.write("x");
      },
      {.on_error = [](const request*, std::exception_ptr) {}});
  const std::string answer = web.exchange(get("/"));
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_FALSE(has(answer, "Transfer-Encoding")) << answer;
}

// No length and no coding: there is no body, and what follows is the next request.
GO_TEST(rfc9112, a_request_without_framing_has_no_body) {
  const running_server web(sley_test::echo_body);
  const std::string answer = web.exchange("POST / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
  EXPECT_EQ(count_of(answer, "HTTP/1.1 200 OK\r\n"), 2) << answer;
}

GO_TEST(rfc9112, a_client_frames_every_body_it_sends) {
  EXPECT_TRUE(has(request_of({.method = "POST", .url = "/"}), "\r\nContent-Length: 0\r\n"));
  EXPECT_FALSE(has(request_of({.method = "GET", .url = "/"}), "Content-Length"));
  EXPECT_TRUE(
      has(request_of({.method = "PUT", .url = "/", .body = "abc"}), "\r\nContent-Length: 3\r\n"));
}

GO_TEST(rfc9112, a_server_sends_no_chunks_to_http_1_0) {
  const running_server web([](request&, response& out) {
    out.write("a");
    out.flush();
    out.write("b");
  });
  const std::string old = web.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_FALSE(has(old, "Transfer-Encoding")) << old;
  EXPECT_TRUE(has(old, "Connection: close\r\n")) << old;
  EXPECT_EQ(body_of(old), "ab");
}

// ---- 7: chunks ----

GO_TEST(rfc9112, extensions_of_chunks_that_are_not_known_are_passed_over) {
  const running_server web(sley_test::echo_body);
  const std::string answer = web.exchange(
      post("Transfer-Encoding: chunked\r\n",
           "3;a=b;c=\"d e\";f\r\nabc\r\nA ;x\r\n0123456789\r\n000;last\r\nX: trailer\r\n\r\n"));
  EXPECT_EQ(body_of(answer), "abc0123456789") << answer;
}

// A trailer is never taken for a field of the header.
GO_TEST(rfc9112, trailers_are_not_merged_into_the_header) {
  const running_server web([](request& in, response& out) {
    in.body().read_all();
    EXPECT_FALSE(in.headers().contains("X-Late"));
    EXPECT_EQ(in.header("Host"), "test");
    EXPECT_EQ(in.body().trailers().get("X-Late"), "1");
    out.send(204);
  });
  EXPECT_EQ(status_of(web.exchange(
                post("Transfer-Encoding: chunked\r\n", "0\r\nX-Late: 1\r\nHost: evil\r\n\r\n"))),
            204);
}

// RFC 9110, 10.1.4 asks for the connection option.
GO_TEST(rfc9112, te_and_upgrade_are_options_of_the_connection) {
  client_request r{.url = "/"};
  r.headers.set("TE", "trailers");
  const std::string head = request_of(r);
  EXPECT_TRUE(has(head, "\r\nTE: trailers\r\n")) << head;
  EXPECT_TRUE(has(head, "\r\nConnection: TE\r\n")) << head;
  r.headers.set("Connection", "te, close");
  EXPECT_EQ(count_of(request_of(r), "Connection: "), 1);
  client_request upgrade{.url = "/"};
  upgrade.headers.set("Upgrade", "x");
  EXPECT_TRUE(has(request_of(upgrade), "\r\nConnection: Upgrade\r\n"));
}

// ---- 9: connections ----

GO_TEST(rfc9112, connections_are_kept_and_closed_as_both_sides_say) {
  const running_server web(sley_test::hello);
  const auto answers = [&](const std::string& head) {
    return count_of(web.exchange(head + get("/")), "HTTP/1.1 200 OK\r\n");
  };
  EXPECT_EQ(answers(get("/")), 2);
  EXPECT_EQ(answers(get("/", "Connection: close\r\n")), 1);
  EXPECT_EQ(answers(get("/", "Connection: x, CLOSE\r\n")), 1);
  EXPECT_EQ(answers(get("/", "Connection: x\r\nConnection: close\r\n")), 1);
  EXPECT_EQ(answers("GET / HTTP/1.0\r\n\r\n"), 1);
  EXPECT_EQ(answers("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), 2);
  EXPECT_EQ(answers("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), 1);
}

GO_TEST(rfc9112, a_client_keeps_connections_as_the_server_says) {
  const std::string length = "Content-Length: 0\r\n";
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nConnection: close\r\n" + length + "\r\n").kept, 0U);
  EXPECT_EQ(outcome_of("HTTP/1.1 200 OK\r\nConnection: x, Close\r\n" + length + "\r\n").kept, 0U);
  EXPECT_EQ(outcome_of("HTTP/1.0 200 OK\r\n" + length + "\r\n").kept, 0U);
}

// Also where the handler has its own idea of Connection.
GO_TEST(rfc9112, the_last_answer_of_a_connection_says_so) {
  const running_server web([](request&, response& out) {
    out.headers().set("Connection", "X-Own");
    out.send(200, "", "x");
  });
  const std::string answer = web.exchange(get("/", "Connection: close\r\n"));
  EXPECT_TRUE(has(answer, "\r\nConnection: X-Own\r\n")) << answer;
  EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n")) << answer;
}

GO_TEST(rfc9112, answers_come_in_the_order_of_the_requests) {
  const running_server web([](request& in, response& out) { out.send(200, "", in.path()); });
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += get("/" + std::to_string(i) + ";");
  const std::string answer = web.exchange(requests);
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = answer.find("/" + std::to_string(i) + ";", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}
