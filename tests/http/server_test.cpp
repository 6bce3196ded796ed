// What a server does with good requests, their bodies and contexts.
#include "support/web.hpp"

#include <string>

using sley::http::request;
using sley::http::response;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::count_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::hello;
using sley_test::post;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;

namespace {

using namespace std::string_literals;

// Undoes chunks, trusting them.
std::string unchunk(std::string_view body) {
  std::string text;
  for (;;) {  // ends with the last chunk
    const std::size_t size = std::stoul(std::string(body.substr(0, body.find('\r'))), nullptr, 16);
    body.remove_prefix(body.find('\n') + 1);
    if (size == 0) return text;
    text += body.substr(0, size);
    body.remove_prefix(size + 2);
  }
}

}  // namespace

// ---- messages ----

GO_TEST(server, answers_and_keeps_the_connection) {
  const running_server web(hello);
  const auto s = web.connect();
  for (int i = 0; i < 3; ++i) {
    s.write_all(bytes_of(get("/")));
    const std::string head = read_head(s);
    EXPECT_EQ(status_of(head), 200);
    EXPECT_TRUE(has(head, "Content-Length: 5\r\n")) << head;
    EXPECT_TRUE(has(head, "Content-Type: text/plain\r\n")) << head;
    EXPECT_TRUE(has(head, " GMT\r\n")) << head;
    EXPECT_FALSE(has(head, "Connection")) << head;
    EXPECT_EQ(read_exactly(s, 5), "hello");
  }
}

GO_TEST(server, answers_pipelined_requests_in_order) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/1") sley::this_goroutine::yield();
    out.send(200, "", std::string(in.path()) + in.body().read_all());
  });
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += i % 2 == 0 ? get("/" + std::to_string(i)) : post("Content-Length: 3\r\n", "abc");
  }
  const std::string answers = web.exchange(all);
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK\r\n"), 50);
  EXPECT_LT(answers.find("/0"), answers.find("/2"));
  EXPECT_LT(answers.find("/2"), answers.find("/48"));
  EXPECT_EQ(count_of(answers, "/pabc"), 25);
}

GO_TEST(server, knows_the_parts_of_a_request) {
  const running_server web([](request& in, response& out) {
    EXPECT_EQ(in.method(), "GET");
    EXPECT_EQ(in.target(), "/a%20b/c?x=1+2&y=%3D&x=3");
    EXPECT_EQ(in.path(), "/a b/c");
    EXPECT_EQ(in.raw_path(), "/a%20b/c");
    EXPECT_EQ(in.query(), "x=1+2&y=%3D&x=3");
    EXPECT_EQ(in.query_parameters().get("x"), "1 2");
    EXPECT_EQ(in.query_parameters().get("y"), "=");
    EXPECT_EQ(in.query_parameters().all("x").size(), 2U);
    EXPECT_EQ(in.version(), 11);
    EXPECT_EQ(in.host(), "test");
    EXPECT_EQ(in.header("x-FIRST"), "1");
    EXPECT_TRUE(in.headers().has_token("X-List", "B"));
    EXPECT_EQ(in.headers()[0].name, "Host");
    EXPECT_EQ(in.remote().host(), "127.0.0.1");
    out.send(204);
  });
  const std::string answer =
      web.exchange(get("/a%20b/c?x=1+2&y=%3D&x=3", "X-First: 1\r\nX-List: a, b\r\nX-First: 2\r\n"));
  EXPECT_EQ(status_of(answer), 204);
  EXPECT_FALSE(has(answer, "Content-Length")) << answer;
}

GO_TEST(server, speaks_http_1_0) {
  const running_server web([](request&, response& out) {
    out.write("a");
    out.flush();
    out.write("b");
  });
  const std::string answer = web.exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
  EXPECT_FALSE(has(answer, "chunked")) << answer;
  EXPECT_EQ(body_of(answer), "ab");

  const running_server simple(hello);
  const std::string two = simple.exchange(
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n" + get("/"));
  EXPECT_EQ(count_of(two, "HTTP/1.1 200"), 2) << two;
  EXPECT_EQ(count_of(two, "Connection: keep-alive\r\n"), 1) << two;
  EXPECT_EQ(count_of(two, "Connection: close\r\n"), 1) << two;
}

GO_TEST(server, sends_no_body_to_head) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/stream") {
      out.write("some");
      out.flush();
      out.write("more");
    } else {
      out.send(200, "text/plain", "hello");
    }
  });
  const std::string answers =
      web.exchange("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK\r\n"), 2) << answers;
  EXPECT_TRUE(has(answers, "Content-Length: 5\r\n")) << answers;
  EXPECT_TRUE(answers.ends_with("\r\n\r\n")) << answers;
  EXPECT_FALSE(has(answers, "hello")) << answers;
}

GO_TEST(server, closes_when_asked_to) {
  const running_server web(hello);
  const std::string answer = web.exchange(get("/", "Connection: x, Close\r\n") + get("/"));
  EXPECT_EQ(count_of(answer, "HTTP/1.1 "), 1) << answer;
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
}

// ---- bodies ----

GO_TEST(server, reads_bodies_of_both_framings) {
  const running_server web(sley_test::echo_body);
  std::string large(300'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 7) large[i] = 'y';
  EXPECT_EQ(body_of(web.exchange(post("Content-Length: 300000\r\n", large))), large);
  std::string chunks;
  for (std::size_t at = 0, size = 1; at < large.size(); at += size, size = size * 2 + 1) {
    const std::string part = large.substr(at, size);
    char head[32];
    std::snprintf(head, sizeof head, "%zX;ext=\"v\"\r\n", part.size());
    chunks += head + part + "\r\n";
  }
  chunks += "0\r\nX-Trailer: t\r\n\r\n";
  EXPECT_EQ(body_of(web.exchange(post("Transfer-Encoding: Chunked\r\n", chunks))), large);
}

GO_TEST(server, hands_over_trailers) {
  const running_server web([](request& in, response& out) {
    const std::string body = in.body().read_all();
    out.send(200, "", body + std::string(in.body().trailers().get("x-sum")));
  });
  const std::string answers = web.exchange(
      post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nX-Sum: 42\r\n\r\n") + get("/"));
  EXPECT_TRUE(has(answers, "abc42")) << answers;
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200"), 2) << answers;
}

// Each byte of the answer is there before the next byte of the request is sent.
GO_TEST(server, streams_both_ways_at_once) {
  const running_server web([](request& in, response& out) {
    std::byte byte[1];
    while (in.body().read_some(byte) > 0) {
      out.write(byte);
      out.flush();
    }
  });
  const auto s = web.connect();
  s.write_all(bytes_of(post("Transfer-Encoding: chunked\r\n", "1\r\na\r\n")));
  EXPECT_TRUE(has(read_head(s), "Transfer-Encoding: chunked\r\n"));
  EXPECT_EQ(read_exactly(s, 6), "1\r\na\r\n");
  s.write_all(bytes_of("1\r\nb\r\n"));
  EXPECT_EQ(read_exactly(s, 6), "1\r\nb\r\n");
  s.write_all(bytes_of("0\r\n\r\n"));
  EXPECT_EQ(read_exactly(s, 5), "0\r\n\r\n");
}

GO_TEST(server, sends_long_bodies_in_chunks) {
  std::string whole;
  for (int i = 0; i < 5000; ++i) whole += std::to_string(i) + ' ';
  const running_server web([&](request&, response& out) {
    for (std::size_t at = 0; at < whole.size(); at += 1000) {
      out.write(std::string_view(whole).substr(at, 1000));
    }
    out.trailers().set("X-Sum", "1");
  });
  const std::string answer = web.exchange(get("/", "Connection: close\r\n"));
  EXPECT_TRUE(has(answer, "Transfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(has(answer, "Content-Length"));
  EXPECT_EQ(unchunk(body_of(answer)), whole);
  EXPECT_TRUE(answer.ends_with("0\r\nX-Sum: 1\r\n\r\n"));
}

GO_TEST(server, sends_long_bodies_whole_where_their_length_is_known) {
  const std::string large(1'000'000, 'z');
  const running_server web([&](request&, response& out) { out.send(200, "", large); });
  const std::string answer = web.exchange(get("/"));
  EXPECT_TRUE(has(answer, "Content-Length: 1000000\r\n"));
  EXPECT_EQ(body_of(answer), large);
}

GO_TEST(server, asks_for_the_body_when_it_is_read) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/p") out.write(in.body().read_all());
  });
  const auto s = web.connect();
  s.write_all(bytes_of(post("Expect: 100-continue\r\nContent-Length: 3\r\n", "")));
  EXPECT_EQ(read_head(s), "HTTP/1.1 100 Continue\r\n\r\n");
  s.write_all(bytes_of("abc"));
  EXPECT_EQ(status_of(read_head(s)), 200);
  EXPECT_EQ(read_exactly(s, 3), "abc");

  // The handler does not read it: no "100 Continue", and no guess whether the body comes.
  const auto t = web.connect();
  t.write_all(
      bytes_of("POST /other HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Length: 3\r\n\r\n"));
  const std::string answer = read_to_end(t);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
}

GO_TEST(server, skips_the_rest_of_a_body_that_the_handler_leaves) {
  const running_server web(hello);
  const std::string body(100'000, 'x');
  const std::string answers =
      web.exchange(post("Content-Length: 100000\r\n", body) +
                   post("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n") + get("/"));
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200"), 3);
}

// The peer gets its answer although it has not sent all of its body, and never will.
GO_TEST(server, closes_rather_than_skip_much) {
  const running_server web(hello);
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 5000000\r\n", std::string(50'000, 'x'))));
  const std::string answer = read_to_end(s);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("hello")) << answer;
}

// ---- contexts ----

GO_TEST(server, a_context_ends_when_the_peer_goes) {
  sley::chan<void> arrived, ended;
  const running_server web([=](request& in, response&) {
    const sley::context ctx = in.context();
    EXPECT_EQ(ctx, in.context());
    EXPECT_FALSE(ctx.error());
    arrived.send();
    ctx.done().receive();
    EXPECT_EQ(ctx.error(), sley::context_errc::canceled);
    ended.send();
  });
  auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  arrived.receive();
  s.close();
  ended.receive();
}

// The watcher reads the next requests, and none of their bytes is lost.
GO_TEST(server, watching_a_peer_loses_nothing) {
  const running_server web([](request& in, response& out) {
    const sley::context before = in.context();
    const std::string body = in.body().read_all();
    sley::this_goroutine::yield();
    EXPECT_FALSE(in.context().error());
    out.send(200, "", std::string(in.path()) + body);
  });
  for (int round = 0; round < sley_test::rounds(20); ++round) {
    const auto s = web.connect();
    sley::wait_group group;
    group.go([&] {
      for (int i = 0; i < 20; ++i) {
        s.write_all(bytes_of(i % 2 == 0 ? get("/x") : post("Content-Length: 3\r\n", "abc")));
        if (i % 3 == round % 3) sley::this_goroutine::yield();
      }
    });
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(status_of(read_head(s)), 200);
      EXPECT_EQ(read_exactly(s, i % 2 == 0 ? 2 : 5), i % 2 == 0 ? "/x" : "/pabc");
    }
    group.wait();
  }
}

GO_TEST(server, a_context_carries_values_to_later_handlers_and_ends_with_the_handler) {
  sley::context kept;
  sley::http::router r;
  r.use([](sley::http::handler next) -> sley::http::handler {
    return [next](request& in, response& out) {
      in.set_context(sley::with_value(in.context(), "user", std::string("gopher")));
      next(in, out);
    };
  });
  r.get("/", [&](request& in, response& out) {
    kept = in.context();
    out.send(200, "", *in.context().value<std::string>("user"));
  });
  const running_server web(r);
  EXPECT_EQ(body_of(web.exchange(get("/"))), "gopher");
  EXPECT_TRUE(eventually([&] { return bool(kept.error()); }));
}
