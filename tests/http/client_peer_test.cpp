// The client against servers that send exactly the bytes of a test: what is malformed, ends too
// soon, comes late, or not at all.
#include "support/scripted_server.hpp"
#include "support/web.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

using sley::http::client;
using sley::http::client_request;
using sley::http::client_response;
using sley::http::errc;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::has;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::scripted_server;
using namespace std::chrono_literals;

namespace {

// Reads one request without a body, and answers with this.
scripted_server::script answers(std::string text) {
  return [text](int, const tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of(text));
  };
}

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Of the head or of the body.
std::error_code error_for(const std::string& answer, std::string method = "GET") {
  const scripted_server peer(answers(answer));
  client c({.header_bytes = 4096});
  std::error_code error;
  client_response r = c.send({.method = std::move(method), .url = peer.url}, error);
  if (!error) r.read_all(SIZE_MAX, error);
  EXPECT_EQ(c.idle_connections(), 0U);
  return error;
}

std::string body_for(const std::string& answer) {
  const scripted_server peer(answers(answer));
  client c;
  return c.get(peer.url).read_all();
}

}  // namespace

// ---- answers that are understood ----

GO_TEST(client_peer, reads_bodies_up_to_the_end_of_the_connection) {
  EXPECT_EQ(body_for("HTTP/1.1 200 OK\r\n\r\nall of it"), "all of it");
  EXPECT_EQ(body_for("HTTP/1.0 200 OK\r\n\r\n"), "");
}

GO_TEST(client_peer, reads_chunks_with_extensions) {
  EXPECT_EQ(body_for("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
                     "3;a=b\r\nabc\r\n01\r\nd\r\n0\r\nX: y\r\n\r\n"),
            "abcd");
}

GO_TEST(client_peer, passes_over_interim_answers) {
  EXPECT_EQ(body_for("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" +
                     std::string(ok)),
            "ok");
}

GO_TEST(client_peer, takes_a_status_without_a_phrase) {
  EXPECT_EQ(body_for("HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx"), "x");
}

// ---- answers that are refused ----

GO_TEST(client_peer, refuses_malformed_heads) {
  for (const char* answer : {
           "hello\r\n\r\n",
           "\r\n\r\n",
           "HTTP/2.0 200 OK\r\n\r\n",
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 101 Switching Protocols\r\n\r\n",
           "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       }) {
    EXPECT_EQ(error_for(answer), errc::malformed) << answer;
  }
}

GO_TEST(client_peer, refuses_answers_without_a_clear_end) {
  for (const char* rest : {
           "Content-Length : 1\r\n\r\nx",
           " X: a\r\nContent-Length: 1\r\n\r\nx",
           "Content-Length: 1\r\n 2\r\n\r\nx",
           "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxy",
           "Content-Length: +1\r\n\r\nx",
           "Content-Length: 1, 1\r\n\r\nx",
           "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\nx\r\n",
           "Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n",
           "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
       }) {
    EXPECT_EQ(error_for(std::string("HTTP/1.1 200 OK\r\n").append(rest)), errc::malformed) << rest;
  }
}

GO_TEST(client_peer, refuses_heads_that_are_too_large) {
  const std::string big = std::string("HTTP/1.1 200 OK\r\nX: ").append(5000, 'x');
  EXPECT_EQ(error_for(big), errc::head_too_large);
  std::string many;
  for (int i = 0; i < 200; ++i) many += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ(error_for(many), errc::head_too_large);
}

GO_TEST(client_peer, refuses_trailers_that_are_too_large) {
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto trailer = [](std::size_t size) {
    return "1\r\na\r\n0\r\nX: " + std::string(size, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(body_for(chunked + trailer(4000)), "a");
  EXPECT_EQ(error_for(chunked + trailer(4200)), errc::malformed);
  EXPECT_EQ(error_for(chunked + trailer(100'000)), errc::malformed);
}

GO_TEST(client_peer, sees_answers_that_end_too_soon) {
  EXPECT_EQ(error_for(""), errc::incomplete);
  EXPECT_EQ(error_for("HTTP/1.1 200 OK\r\nContent-"), errc::incomplete);
  EXPECT_EQ(error_for("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxx"), errc::incomplete);
  EXPECT_EQ(error_for("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxx"),
            errc::incomplete);
  EXPECT_EQ(error_for("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n"),
            errc::incomplete);
}

GO_TEST(client_peer, does_not_keep_a_connection_with_more_than_the_answer) {
  const scripted_server peer([](int, const tcp_stream& s) {
    read_head(s);
    std::string both(ok);
    both += ok;
    s.write_all(bytes_of(both));
    read_to_end(s);
  });
  client c;
  EXPECT_EQ(c.get(peer.url).read_all(), "ok");
  EXPECT_EQ(c.get(peer.url).read_all(), "ok");
  EXPECT_TRUE(eventually([&] { return c.idle_connections() == 0; }));
}

// ---- connections that end ----

GO_TEST(client_peer, forgets_an_idle_connection_that_its_peer_closes) {
  const scripted_server peer(answers(std::string(ok)));
  client c;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(c.get(peer.url).read_all(), "ok");
    EXPECT_TRUE(eventually([&] { return c.idle_connections() == 0; }));
  }
}

namespace {

// Answers the first request of the first connection, and closes at the second; answers all others.
scripted_server::script loses_the_second(std::atomic<int>& heads) {
  return [&heads](int number, const tcp_stream& s) {
    for (;;) {  // ends when the client closes
      read_head(s);
      if (++heads == 2 && number == 1) return;
      s.write_all(bytes_of(ok));
    }
  };
}

}  // namespace

GO_TEST(client_peer, repeats_a_harmless_request_over_a_new_connection) {
  for (const std::string method : {"GET", "OPTIONS", "POST"}) {
    std::atomic<int> heads{0};
    const scripted_server peer(loses_the_second(heads));
    client c;
    EXPECT_EQ(c.get(peer.url).read_all(), "ok");
    client_request r{.method = method, .url = peer.url};
    if (method == "POST") r.headers.set("Idempotency-Key", "1");
    EXPECT_EQ(c.send(r).read_all(), "ok");
    EXPECT_EQ(heads, 3);
  }
}

GO_TEST(client_peer, does_not_repeat_a_request_that_may_do_harm) {
  std::atomic<int> heads{0};
  const scripted_server peer(loses_the_second(heads));
  client c;
  EXPECT_EQ(c.get(peer.url).read_all(), "ok");
  std::error_code error;
  c.post(peer.url, "", "", error);
  EXPECT_TRUE(error);
  EXPECT_EQ(heads, 2);
}

GO_TEST(client_peer, does_not_repeat_over_a_connection_that_was_new) {
  std::atomic<int> heads{0};
  const scripted_server peer([&](int, const tcp_stream& s) {
    read_head(s);
    ++heads;
  });
  client c;
  std::error_code error;
  c.get(peer.url, error);
  EXPECT_EQ(error, errc::incomplete);
  EXPECT_EQ(heads, 1);
}

GO_TEST(client_peer, reads_an_answer_that_comes_before_the_body_was_sent) {
  const scripted_server peer([](int, const tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"));
    read_to_end(s);
  });
  client c;
  // A body without an end, which is not sent on once the answer is complete.
  client_response r = c.post(peer.url, "", [](std::span<std::byte>) -> std::size_t {
    sley::this_goroutine::yield();
    return 1;
  });
  EXPECT_EQ(r.status(), 413);
  EXPECT_EQ(r.read_all(), "no");
  EXPECT_EQ(c.idle_connections(), 0U);
}

GO_TEST(client_peer, an_answer_over_the_limit_of_read_all_stays_an_error) {
  for (const char* head : {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
                           "HTTP/1.1 200 OK\r\n\r\nok"}) {
    const scripted_server peer(answers(head));
    client c;
    client_response r = c.get(peer.url);
    std::error_code error;
    EXPECT_EQ(r.read_all(1, error), "");
    EXPECT_EQ(error, errc::body_too_large);
    EXPECT_EQ(r.read_all(10, error), "");
    EXPECT_EQ(error, errc::body_too_large);
    EXPECT_EQ(c.idle_connections(), 0U);
  }
}

// ---- time ----

GO_TEST(client_peer, gives_up_on_slow_servers) {
  const sley::chan<void> test_ended;
  const scripted_server peer([&](int number, const tcp_stream& s) {
    read_head(s);
    if (number == 2) s.write_all(bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"));
    test_ended.receive();
  });
  client c({.header_timeout = 20ms, .read_timeout = 20ms});
  std::error_code error;
  c.get(peer.url, error);
  EXPECT_EQ(error, std::errc::timed_out);
  client patient({.read_timeout = 20ms});
  client_response r = patient.get(peer.url);
  r.read_all(SIZE_MAX, error);
  EXPECT_EQ(error, std::errc::timed_out);
  test_ended.close();
}

GO_TEST(client_peer, sends_an_expected_body_without_an_answer) {
  const scripted_server peer([](int, const tcp_stream& s) {
    EXPECT_TRUE(has(read_head(s), "Expect: 100-continue\r\n"));
    EXPECT_EQ(read_exactly(s, 5), "hello");
    s.write_all(bytes_of(ok));
  });
  client c({.expect_timeout = 1ms});
  client_request r{.method = "PUT", .url = peer.url, .body = "hello"};
  r.headers.set("Expect", "100-continue");
  EXPECT_EQ(c.send(r).read_all(), "ok");
}

// ---- contexts ----

GO_TEST(client_peer, a_context_ends_waiting_for_the_answer) {
  const sley::chan<void> has_asked;
  const scripted_server peer([&](int, const tcp_stream& s) {
    read_head(s);
    has_asked.send();
    EXPECT_EQ(read_to_end(s), "");  // the client closes
  });
  client c;
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  sley::wait_group group;
  group.go([&, end = cancel] {
    has_asked.receive();
    end();
  });
  std::error_code error;
  c.send({.url = peer.url, .context = ctx}, error);
  EXPECT_EQ(error, sley::context_errc::canceled);
  group.wait();
  c.send({.url = peer.url, .context = ctx}, error);
  EXPECT_EQ(error, sley::context_errc::canceled);
}

GO_TEST(client_peer, a_context_ends_reading_a_body) {
  const scripted_server peer([](int, const tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of("HTTP/1.1 200 OK\r\n\r\nx"));
    read_to_end(s);
  });
  client c;
  auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 20ms);
  std::error_code error;
  client_response r = c.send({.url = peer.url, .context = ctx}, error);
  if (!error) r.read_all(SIZE_MAX, error);
  EXPECT_EQ(error, sley::context_errc::deadline_exceeded);
}

GO_TEST(client_peer, a_context_ends_connecting_and_waiting_for_a_turn) {
  const sley::chan<void> go_on;
  client c({.connections_per_host = 1, .connect = [go_on](const sley::context&, const auto&) {
              go_on.receive();
              return sley::http::connection_ptr();
            }});
  sley::wait_group group;
  for (int i = 0; i < 2; ++i) {
    group.go([&] {
      auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 5ms);
      std::error_code error;
      c.send({.url = "http://nowhere/", .context = ctx}, error);
      EXPECT_EQ(error, sley::context_errc::deadline_exceeded);
      cancel();
    });
  }
  group.wait();
  go_on.close();
}

namespace {

// The functions that take a context, in both forms; `error` is null for the form that throws.
struct call_with_context {
  const char* name;
  std::function<client_response(client&, const std::string&, const sley::context&,
                                std::error_code* error)>
      call;
};

std::vector<call_with_context> calls_with_context() {
  return {{"get",
           [](client& c, const std::string& url, const sley::context& ctx, std::error_code* error) {
             return error == nullptr ? c.get(url, ctx) : c.get(url, ctx, *error);
           }},
          {"head",
           [](client& c, const std::string& url, const sley::context& ctx, std::error_code* error) {
             return error == nullptr ? c.head(url, ctx) : c.head(url, ctx, *error);
           }},
          {"post",
           [](client& c, const std::string& url, const sley::context& ctx, std::error_code* error) {
             return error == nullptr ? c.post(url, "text/plain", "body", ctx)
                                     : c.post(url, "text/plain", "body", ctx, *error);
           }}};
}

// Each function gives up with the error of its context, which ends once the peer, or the connector,
// says that it is there.
void expect_all_give_up(client& c, const std::string& url, const sley::chan<void>& is_there) {
  for (const call_with_context& one : calls_with_context()) {
    for (const bool throws : {false, true}) {
      auto [ctx, cancel] = sley::with_cancel(sley::context::background());
      sley::wait_group group;
      group.go([&, end = cancel] {
        is_there.receive();
        end();
      });
      std::error_code error;
      try {
        one.call(c, url, ctx, throws ? nullptr : &error);
      } catch (const std::system_error& e) {
        EXPECT_TRUE(throws);
        error = e.code();
      }
      EXPECT_EQ(error, sley::context_errc::canceled) << one.name;
      group.wait();
    }
  }
}

}  // namespace

GO_TEST(client_peer, the_context_of_every_function_ends_the_wait_for_the_head) {
  const sley::chan<void> has_asked;
  const scripted_server peer([&](int, const tcp_stream& s) {
    read_head(s);
    has_asked.send();
    read_to_end(s);
  });
  client c;
  expect_all_give_up(c, peer.url, has_asked);
}

GO_TEST(client_peer, the_context_of_every_function_ends_connecting) {
  const sley::chan<void> is_connecting;
  client c({.connect = [is_connecting](const sley::context& ctx,
                                       const sley::http::url&) -> sley::http::connection_ptr {
    is_connecting.send();
    ctx.done().receive();
    throw std::system_error(ctx.error());
  }});
  expect_all_give_up(c, "http://nowhere/", is_connecting);
}

GO_TEST(client_peer, the_context_of_every_function_ends_reading_the_body) {
  const scripted_server peer([](int, const tcp_stream& s) {
    read_head(s);
    s.write_all(bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx"));
    read_to_end(s);
  });
  client c;
  for (const call_with_context& one : calls_with_context()) {
    if (one.name == std::string("head")) continue;  // has no body
    auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    client_response r = one.call(c, peer.url, ctx, nullptr);
    std::byte first;
    EXPECT_EQ(r.body().read_some({&first, 1}), 1U);
    cancel();
    std::error_code error;
    r.read_all(SIZE_MAX, error);
    EXPECT_EQ(error, sley::context_errc::canceled) << one.name;
  }
}

GO_TEST(client_peer, head_asks_for_the_head_alone) {
  const scripted_server peer([](int, const tcp_stream& s) {
    EXPECT_EQ(read_head(s).substr(0, 7), "HEAD / ");
    s.write_all(bytes_of("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
  });
  client c;
  client_response r = c.head(peer.url);
  EXPECT_EQ(r.header("Content-Length"), "100");
  EXPECT_EQ(r.read_all(), "");
  std::error_code error;
  EXPECT_EQ(c.head(peer.url, error).status(), 200);
  EXPECT_FALSE(error);
}

GO_TEST(client_peer, a_context_that_ends_later_changes_nothing) {
  std::atomic<int> connections{0};
  const scripted_server peer([&](int, const tcp_stream& s) {
    ++connections;
    for (;;) {  // ends when the client closes
      read_head(s);
      s.write_all(bytes_of(ok));
    }
  });
  client c;
  for (int i = 0; i < 5; ++i) {
    auto [ctx, cancel] = sley::with_cancel(sley::context::background());
    EXPECT_EQ(c.send({.url = peer.url, .context = ctx}).read_all(), "ok");
    cancel();
  }
  EXPECT_EQ(connections, 1);
}
