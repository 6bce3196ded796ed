// What a server does with good requests, with its handlers, and with limits.
#include "support/web.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using sley::http::request;
using sley::http::response;
using sley::http::server_options;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::count_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

namespace {

using namespace std::string_literals;

void hello(request&, response& out) { out.send(200, "text/plain", "hello"); }

void echo(request& in, response& out) { out.send(200, "text/plain", in.body().read_all()); }

sley::time_point in(std::chrono::nanoseconds d) { return std::chrono::steady_clock::now() + d; }

std::string post(std::string_view headers, std::string_view body) {
  return "POST /p HTTP/1.1\r\nHost: test\r\n" + std::string(headers) + "\r\n" + std::string(body);
}

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
  const running_server web(echo);
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

  // Nobody reads it: no "100 Continue", and no guess whether the body comes.
  const auto t = web.connect();
  t.write_all(
      bytes_of("POST /other HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
               "Content-Length: 3\r\n\r\n"));
  const std::string answer = read_to_end(t);
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
}

GO_TEST(server, skips_what_a_handler_has_not_read) {
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

// ---- limits ----

GO_TEST(server, limits_heads) {
  const running_server web(hello, {.header_bytes = 2000, .target_bytes = 100});
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(1900, 'x') + "\r\n"))), 200);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(2000, 'x') + "\r\n"))), 431);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(100'000, 'x') + "\r\n"))), 431);
  EXPECT_EQ(status_of(web.exchange(get("/" + std::string(200, 'x')))), 414);
  EXPECT_EQ(status_of(web.exchange("GET /" + std::string(100'000, 'x'))), 414);
}

GO_TEST(server, limits_bodies) {
  const running_server web(echo, {.body_bytes = 10});
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 10\r\n", "0123456789"))), 200);
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 11\r\n", "0123456789a"))), 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(status_of(web.exchange(post(chunked, "A\r\n0123456789\r\n0\r\n\r\n"))), 200);
  EXPECT_EQ(status_of(web.exchange(post(chunked, "B\r\n0123456789a\r\n0\r\n\r\n"))), 413);
  const std::string refused =
      web.exchange(post("Expect: 100-continue\r\nContent-Length: 11\r\n", ""));
  EXPECT_EQ(status_of(refused), 413);
}

GO_TEST(server, a_handler_sets_its_own_limit) {
  const running_server web(
      [](request& in, response& out) {
        in.body().set_limit(20);
        out.write(in.body().read_all());
      },
      {.body_bytes = 10});
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 20\r\n", std::string(20, 'x')))), 200);
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 21\r\n", std::string(21, 'x')))), 413);
}

GO_TEST(server, ends_slow_heads_and_idle_connections) {
  const running_server web(hello, {.header_timeout = 50ms, .idle_timeout = 50ms});
  const auto silent = web.connect();
  const auto slow = web.connect();
  slow.write_all(bytes_of("GET / HT"));
  const auto second = web.connect();
  second.write_all(bytes_of(get("/")));
  EXPECT_EQ(status_of(read_head(second)), 200);
  EXPECT_EQ(read_exactly(second, 5), "hello");
  EXPECT_EQ(read_to_end(silent), "");
  EXPECT_EQ(status_of(read_to_end(slow)), 408);
  EXPECT_EQ(read_to_end(second), "");
}

GO_TEST(server, ends_slow_bodies) {
  const running_server web(echo, {.read_timeout = 50ms});
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 3\r\n", "a")));
  EXPECT_EQ(status_of(read_to_end(s)), 408);
}

GO_TEST(server, ends_writing_to_who_does_not_read) {
  std::atomic<bool> has_failed{false};
  const running_server web(
      [&](request&, response& out) {
        std::error_code error;
        const std::string much(1 << 20, 'x');
        for (int i = 0; i < 1000 && !error; ++i) out.write(much, error);
        has_failed = error == std::errc::timed_out;
      },
      {.write_timeout = 50ms});
  const auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  EXPECT_TRUE(eventually([&] { return has_failed.load(); }));
}

GO_TEST(server, takes_no_more_connections_than_it_may) {
  const running_server web(hello, {.connections = 2});
  auto first = web.connect();
  const auto second = web.connect();
  const auto third = web.connect();  // by the kernel
  first.write_all(bytes_of(get("/")));
  second.write_all(bytes_of(get("/")));
  third.write_all(bytes_of(get("/")));
  EXPECT_EQ(status_of(read_head(first)), 200);
  EXPECT_EQ(status_of(read_head(second)), 200);
  EXPECT_EQ(web.server.open_connections(), 2U);
  first.close();
  EXPECT_EQ(status_of(read_head(third)), 200);
}

// ---- handlers that go wrong ----

GO_TEST(server, survives_what_handlers_throw) {
  std::mutex lock;
  std::vector<std::string> errors;
  server_options options;
  options.on_error = [&](const request* in, std::exception_ptr e) {
    const std::lock_guard guard(lock);
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& known) {
      errors.push_back(std::string(in->path()) + ' ' + known.what());
    } catch (int) {
      errors.push_back(std::string(in->path()) + " int");
    }
  };
  const running_server web(
      [](request& in, response& out) {
        out.headers().set("X-Set", "before");
        if (in.path() == "/runtime") throw std::runtime_error("oops");
        if (in.path() == "/int") throw 5;
        if (in.path() == "/status") throw sley::http::status_error(404, "not here");
        if (in.path() == "/late") {
          out.write("begin");
          out.flush();
          throw std::runtime_error("too late");
        }
        if (in.path() == "/long") {
          out.headers().set("Content-Length", 3);
          out.write("four");
        }
        out.send(200);
      },
      options);
  const std::string answers =
      web.exchange(get("/runtime") + get("/int") + get("/status") + get("/fine"));
  EXPECT_EQ(count_of(answers, "HTTP/1.1 500 "), 2) << answers;
  EXPECT_EQ(count_of(answers, "HTTP/1.1 404 Not Found\r\n"), 1) << answers;
  EXPECT_TRUE(has(answers, "not here")) << answers;
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 "), 1) << answers;
  EXPECT_FALSE(has(answers, "oops")) << answers;
  EXPECT_EQ(count_of(answers, "X-Set"), 2) << answers;  // of the status and the good one

  const std::string late = web.exchange(get("/late") + get("/fine"));
  EXPECT_EQ(count_of(late, "HTTP/1.1 "), 1) << late;
  EXPECT_FALSE(has(late, "0\r\n\r\n")) << late;
  EXPECT_EQ(status_of(web.exchange(get("/long"))), 500);
  const std::lock_guard guard(lock);
  ASSERT_EQ(errors.size(), 4U);
  EXPECT_EQ(errors[0], "/runtime oops");
  EXPECT_EQ(errors[1], "/int int");
  EXPECT_EQ(errors[2], "/late too late");
  EXPECT_TRUE(errors[3].starts_with("/long ")) << errors[3];
}

GO_TEST(server, a_handler_may_exit) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/exit") sley::this_goroutine::exit();
    out.send(200);
  });
  EXPECT_EQ(web.exchange(get("/exit")), "");
  EXPECT_EQ(status_of(web.exchange(get("/"))), 200);
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
}

GO_TEST(server, misuse_of_a_response_throws) {
  const running_server web([](request&, response& out) {
    EXPECT_THROW(out.set_status(99), std::invalid_argument);
    EXPECT_THROW(out.set_status(100), std::invalid_argument);
    EXPECT_THROW(out.headers().set("X", "a\r\nInjected: b"), std::logic_error);
    EXPECT_THROW(out.headers().add("X: y\r\nInjected", "b"), std::logic_error);
    EXPECT_THROW(out.headers().add("", "b"), std::logic_error);
    EXPECT_THROW(out.redirect(302, "/\r\nInjected: b"), std::logic_error);
    out.set_status(204);
    EXPECT_THROW(out.write("x"), std::logic_error);
    out.set_status(200);
    out.write("x");
    EXPECT_THROW(out.send(200), std::logic_error);
    out.flush();
    EXPECT_THROW(out.headers(), std::logic_error);
    EXPECT_THROW(out.set_status(404), std::logic_error);
  });
  const std::string answer = web.exchange(get("/"));
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_FALSE(has(answer, "Injected")) << answer;
}

GO_TEST(server, tells_a_log_of_each_request) {
  struct line {
    std::string method, target;
    int status;
    std::uint64_t bytes;
  };
  std::mutex lock;
  std::vector<line> lines;
  server_options options;
  options.access_log = [&](const sley::http::access_record& r) {
    const std::lock_guard guard(lock);
    EXPECT_EQ(r.remote.host(), "127.0.0.1");
    lines.push_back({std::string(r.method), std::string(r.target), r.status, r.body_bytes});
  };
  const running_server web(hello, options);
  web.exchange(get("/a?b") + "bad\r\n\r\n");
  const std::lock_guard guard(lock);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].method + ' ' + lines[0].target, "GET /a?b");
  EXPECT_EQ(lines[0].status, 200);
  EXPECT_EQ(lines[0].bytes, 5U);
  EXPECT_EQ(lines[1].method, "");
  EXPECT_EQ(lines[1].status, 400);
}

// ---- the end ----

GO_TEST(server, shutdown_lets_requests_end_and_closes_idle_connections) {
  sley::chan<void> arrived, go_on;
  running_server web([=](request&, response& out) {
    arrived.send();
    go_on.receive();
    out.send(200, "", "done");
  });
  const auto idle = web.connect();
  const auto busy = web.connect();
  busy.write_all(bytes_of(get("/")));
  arrived.receive();
  ASSERT_TRUE(eventually([&] { return web.server.open_connections() == 2; }));
  EXPECT_FALSE(web.server.shutdown(in(10ms)));
  EXPECT_EQ(read_to_end(idle), "");
  sley::wait_group group;
  group.go([&] { EXPECT_TRUE(web.server.shutdown()); });
  go_on.send();
  const std::string answer = read_to_end(busy);
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("done")) << answer;
  group.wait();
  EXPECT_THROW(web.connect(), std::system_error);
  EXPECT_EQ(web.server.open_connections(), 0U);
}

GO_TEST(server, close_cuts_everything) {
  sley::chan<void> arrived, never;
  std::atomic<bool> has_failed{false};
  running_server web([&, arrived](request& in, response&) {
    arrived.send();
    std::error_code error;
    std::byte byte[1];
    in.body().read_some(byte, error);
    has_failed = bool(error);
  });
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 3\r\n", "")));
  arrived.receive();
  web.server.close();
  EXPECT_TRUE(eventually([&] { return has_failed.load(); }));
  EXPECT_TRUE(web.server.shutdown());
}

GO_TEST(server, serves_after_the_end_nothing) {
  sley::http::server server(hello);
  EXPECT_TRUE(server.shutdown());
  server.serve(sley::net::tcp_listener::listen("127.0.0.1:0"));  // returns
}

// Connections come and go while the server ends.
GO_TEST(server, ends_at_any_moment) {
  for (int i = 0; i < sley_test::rounds(30); ++i) {
    auto web = std::make_unique<running_server>(hello);
    sley::wait_group group;
    for (int c = 0; c < 4; ++c) {
      group.go([address = web->address] {
        std::error_code error;
        const auto s = sley::net::tcp_stream::connect(address, error);
        for (int n = 0; n < 5 && !error; ++n) {
          s.write_all(bytes_of(get("/")), error);
          std::byte buffer[1024];
          if (!error && s.read_some(buffer, error) == 0) break;
        }
      });
    }
    for (int n = 0; n < i; ++n) sley::this_goroutine::yield();
    if (i % 2 == 0) {
      EXPECT_TRUE(web->server.shutdown());
    }
    web.reset();
    group.wait();
  }
}

GO_TEST(server, needs_a_handler) {
  EXPECT_THROW(sley::http::server(sley::http::handler()), std::invalid_argument);
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
