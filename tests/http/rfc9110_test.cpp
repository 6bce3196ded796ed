// RFC 9110, the semantics of HTTP, section by section: what no other test shows. The rest, where a
// file is served, is in rfc9110_files_test.cpp. README.md beside this file has the table of all
// requirements with the test of each.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <string>
#include <string_view>
#include <utility>

using sley::http::client;
using sley::http::client_request;
using sley::http::request;
using sley::http::response;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::count_of;
using sley_test::get;
using sley_test::has;
using sley_test::read_head;
using sley_test::request_of;
using sley_test::running_server;
using sley_test::scripted_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

const sley::http::server_options quiet = {.on_error = [](const request*, std::exception_ptr) {}};

// What the server answers to a request by this handler.
std::string answer_of(sley::http::handler h, const std::string& bytes = get("/")) {
  const running_server web(std::move(h), quiet);
  return web.exchange(bytes);
}

}  // namespace

// ---- 5 and 6: fields, dates, trailers ----

GO_TEST(rfc9110, fields_of_several_lines_are_one_list) {
  const running_server web([](request& in, response& out) {
    EXPECT_TRUE(in.headers().has_token("X", "b"));
    EXPECT_TRUE(in.headers().has_token("X", "d"));
    EXPECT_FALSE(in.headers().has_token("X", ""));
    EXPECT_EQ(in.headers().all("X").size(), 2U);
    out.send(204);
  });
  EXPECT_EQ(status_of(web.exchange(get("/", "X: , a,,b ,\r\nY: z\r\nx: c,\td\r\n"))), 204);
}

GO_TEST(rfc9110, bytes_beyond_ascii_in_a_field_are_handed_on) {
  EXPECT_TRUE(has(answer_of(
                      [](request& in, response& out) {
                        out.headers().set("Y", in.header("X"));
                        out.send(200, "", "x");
                      },
                      get("/", "X: \xc3\xa4 \xff\r\n")),
                  "\r\nY: \xc3\xa4 \xff\r\n"));
}

GO_TEST(rfc9110, answers_have_a_date_of_the_fixed_form) {
  for (const char* request_line : {"/", "/404", "/304"}) {
    const std::string answer = answer_of(
        [](request& in, response& out) {
          if (in.path() == "/304") return out.set_status(304);
          out.send(in.path() == "/404" ? 404 : 200);
        },
        get(request_line));
    const std::size_t at = answer.find("\r\nDate: ");
    ASSERT_NE(at, std::string::npos) << answer;
    const std::string date = answer.substr(at + 8, 29);
    EXPECT_TRUE(date.ends_with(" GMT")) << date;
    EXPECT_EQ(date.substr(3, 2), ", ") << date;
  }
  EXPECT_TRUE(has(answer_of(sley_test::hello, "nonsense\r\n\r\n"), "\r\nDate: "));
}

GO_TEST(rfc9110, a_field_that_frames_or_routes_a_message_is_no_trailer) {
  for (const char* name : {"Content-Length", "Transfer-Encoding", "Host", "Authorization",
                           "Content-Type", "Content-Encoding", "Trailer", "Set-Cookie", "te"}) {
    const std::string answer = answer_of([&](request&, response& out) {
      out.write("x");
      out.flush();
      out.trailers().set(name, "1");
    });
    EXPECT_FALSE(has(answer, name + ": 1"s)) << answer;
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n")) << answer;
  }
}

// RFC 6265, 3: a list with commas would be another cookie.
GO_TEST(rfc9110, cookies_stay_in_lines_of_their_own) {
  const running_server web([](request&, response& out) {
    out.headers().add("Set-Cookie", "a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT");
    out.headers().add("Set-Cookie", "b=2");
    out.send(200, "", "x");
  });
  client c;
  const auto answer = c.get("http://" + web.address);
  const auto cookies = answer.headers().all("Set-Cookie");
  ASSERT_EQ(cookies.size(), 2U);
  EXPECT_EQ(cookies[0], "a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(cookies[1], "b=2");
}

GO_TEST(rfc9110, a_field_that_is_none_can_not_be_sent) {
  const std::string answer = answer_of([](request&, response& out) {
    out.headers().set("X", " \ta\t ");
    EXPECT_THROW(out.headers().set("Y", "a\r\nb"), std::invalid_argument);
    EXPECT_THROW(out.headers().set("Y", "a\nb"s), std::invalid_argument);
    EXPECT_THROW(out.headers().set("Y", "a\0b"s), std::invalid_argument);
    EXPECT_THROW(out.headers().set("Y Z", "a"), std::invalid_argument);
    EXPECT_THROW(out.headers().set("", "a"), std::invalid_argument);
    out.send(200, "", "x");
  });
  EXPECT_TRUE(has(answer, "\r\nX: a\r\n")) << answer;
  EXPECT_FALSE(has(answer, "\r\nY")) << answer;
}

GO_TEST(rfc9110, a_redirect_tells_no_referer_and_keeps_the_method_where_it_must) {
  std::string seen;
  const running_server web([&](request& in, response& out) {
    const std::string path(in.path());
    if (path != "/end") return out.redirect(std::stoi(path.substr(1)), "/end#fragment");
    EXPECT_FALSE(in.headers().contains("Referer"));
    EXPECT_EQ(in.target(), "/end");
    seen = std::string(in.method()) + ' ' + in.body().read_all();
    out.send(204);
  });
  client c;
  const auto ask = [&](const std::string& path) {
    const auto r = c.send({.method = "PUT", .url = "http://" + web.address + path, .body = "b"});
    EXPECT_EQ(r.status(), 204);
    return seen;
  };
  EXPECT_EQ(ask("/303"), "GET ");
  EXPECT_EQ(ask("/307"), "PUT b");
  EXPECT_EQ(ask("/308"), "PUT b");
}

// ---- 7 and 8: routing, representations ----

GO_TEST(rfc9110, upgrade_is_an_option_of_the_connection) {
  const auto lines = [](std::string_view connection, std::string_view request_lines = "") {
    return answer_of(
        [&](request&, response& out) {
          out.headers().set("Upgrade", "x/1");
          if (!connection.empty()) out.headers().set("Connection", connection);
          out.send(426);
        },
        get("/", request_lines));
  };
  EXPECT_TRUE(has(lines(""), "\r\nConnection: Upgrade\r\n"));
  EXPECT_TRUE(has(lines("", "Connection: close\r\n"), "\r\nConnection: close, Upgrade\r\n"));
  const std::string own = lines("x, upgrade");
  EXPECT_EQ(count_of(own, "\r\nConnection: "), 1) << own;
}

GO_TEST(rfc9110, a_status_without_a_body_has_no_length_either) {
  const std::string answer = answer_of([](request&, response& out) {
    out.headers().set("Content-Length", 5);
    out.set_status(204);
  });
  EXPECT_EQ(status_of(answer), 204);
  EXPECT_FALSE(has(answer, "Content-Length")) << answer;
  EXPECT_FALSE(has(answer, "Transfer-Encoding")) << answer;
}

GO_TEST(rfc9110, an_answer_has_one_content_length) {
  const std::string answer = answer_of([](request&, response& out) {
    out.headers().add("Content-Length", 1);
    out.headers().add("Content-Length", 1);
    out.write("x");
  });
  EXPECT_EQ(status_of(answer), 500);
  EXPECT_EQ(count_of(answer, "Content-Length: "), 1) << answer;
}

GO_TEST(rfc9110, a_body_of_another_length_than_declared_is_an_error) {
  const auto sends = [](std::uint64_t length) {
    return answer_of([=](request&, response& out) {
      out.headers().set("Content-Length", length);
      out.write("abc");
    });
  };
  EXPECT_EQ(body_of(sends(3)), "abc");
  EXPECT_EQ(status_of(sends(2)), 500);
  EXPECT_EQ(status_of(sends(4)), 500);
}

// ---- 9: methods ----

GO_TEST(rfc9110, a_connect_that_succeeds_has_no_framing) {
  const std::string bytes = "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n";
  const std::string tunnel = answer_of([](request&, response& out) { out.send(200); }, bytes);
  EXPECT_EQ(status_of(tunnel), 200);
  EXPECT_FALSE(has(tunnel, "Content-Length")) << tunnel;
  EXPECT_FALSE(has(tunnel, "Transfer-Encoding")) << tunnel;
  EXPECT_EQ(body_of(tunnel), "");
  const std::string with_body =
      answer_of([](request&, response& out) { out.send(200, "text/plain", "x"); }, bytes);
  EXPECT_EQ(status_of(with_body), 500);
  EXPECT_EQ(status_of(answer_of([](request&, response& out) { out.send(405); }, bytes)), 405);
}

GO_TEST(rfc9110, a_client_sends_no_body_with_trace) {
  client c;
  EXPECT_THROW(c.send({.method = "TRACE", .url = "http://127.0.0.1:1/", .body = "x"}),
               std::invalid_argument);
  EXPECT_TRUE(request_of({.method = "TRACE", .url = "/"}).starts_with("TRACE / HTTP/1.1\r\n"));
}

GO_TEST(rfc9110, an_answer_of_405_names_the_allowed_methods) {
  sley::http::router routes;
  routes.get("/", sley_test::hello);
  const std::string refused = answer_of(routes, "PUT / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(status_of(refused), 405);
  EXPECT_TRUE(has(refused, "\r\nAllow: GET, HEAD, OPTIONS\r\n")) << refused;
}

// ---- 10: Expect ----

GO_TEST(rfc9110, an_expectation_of_http_1_0_is_ignored) {
  const std::string answer =
      answer_of(sley_test::echo_body,
                "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_EQ(count_of(answer, "HTTP/1.1"), 1) << answer;
}

GO_TEST(rfc9110, a_request_without_a_body_expects_nothing) {
  client_request r{.method = "POST", .url = "/"};
  r.headers.set("Expect", "100-continue");
  EXPECT_FALSE(has(request_of(r), "Expect"));
  r.body = "";
  EXPECT_FALSE(has(request_of(r), "Expect"));
}

// ---- 11: what a refusal says ----

GO_TEST(rfc9110, a_refusal_keeps_the_challenge_of_the_handler) {
  const std::string answer = answer_of([](request&, response& out) {
    out.headers().set("WWW-Authenticate", "Basic realm=\"x\"");
    throw sley::http::status_error(401);
  });
  EXPECT_EQ(status_of(answer), 401);
  EXPECT_TRUE(has(answer, "\r\nWWW-Authenticate: Basic realm=\"x\"\r\n")) << answer;
}

GO_TEST(rfc9110, a_status_that_is_thrown_has_a_body_only_where_there_can_be_one) {
  for (const int status : {204, 205, 304}) {
    const std::string answer =
        answer_of([=](request&, response&) { throw sley::http::status_error(status, "text"); });
    EXPECT_EQ(status_of(answer), status) << answer;
    EXPECT_EQ(body_of(answer), "") << answer;
  }
}

// ---- 15: statuses ----

GO_TEST(rfc9110, reset_content_has_no_content) {
  const auto is_empty = [](const std::string& answer) {
    EXPECT_EQ(status_of(answer), 205) << answer;
    EXPECT_TRUE(has(answer, "\r\nContent-Length: 0\r\n")) << answer;
    EXPECT_FALSE(has(answer, "Transfer-Encoding")) << answer;
    EXPECT_EQ(body_of(answer), "");
  };
  is_empty(answer_of([](request&, response& out) { out.send(205); }));
  is_empty(answer_of([](request&, response& out) { out.set_status(205); }));
  is_empty(answer_of([](request&, response& out) {
    out.set_status(205);
    out.flush();
  }));
  is_empty(answer_of([](request&, response& out) {
    out.headers().set("Content-Length", 0);
    out.set_status(205);
  }));
  // More is the handler's mistake.
  EXPECT_EQ(status_of(answer_of([](request&, response& out) { out.send(205, "text/plain", "x"); })),
            500);
  EXPECT_EQ(status_of(answer_of([](request&, response& out) {
              out.headers().set("Content-Length", 1);
              out.set_status(205);
            })),
            500);
}

GO_TEST(rfc9110, http_1_0_gets_no_interim_answers) {
  const std::string answer =
      answer_of(sley_test::echo_body,
                "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_FALSE(has(answer, "100 Continue")) << answer;
}

GO_TEST(rfc9110, statuses_that_are_not_known_are_of_their_class) {
  const scripted_server peer([](int number, const sley::net::tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of(number == 1 ? "HTTP/1.1 299 Odd\r\nContent-Length: 2\r\n\r\nok"s
                                     : "HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nno"s));
  });
  client c;
  auto odd = c.get(peer.url);
  EXPECT_TRUE(odd.is_ok());
  EXPECT_EQ(odd.read_all(), "ok");
  c.close_idle();
  auto none = c.get(peer.url);
  EXPECT_FALSE(none.is_ok());
  EXPECT_EQ(none.read_all(), "no");
}
