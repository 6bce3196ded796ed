// The limits of a server, handlers that go wrong, and how a server ends.
#include "support/web.hpp"

#include <array>
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
using sley_test::hello;
using sley_test::in;
using sley_test::post;
using sley_test::read_exactly;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

// ---- limits ----

GO_TEST(server_limits, limits_heads) {
  const running_server web(hello, {.header_bytes = 2000, .target_bytes = 100});
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(1900, 'x') + "\r\n"))), 200);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(2000, 'x') + "\r\n"))), 431);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(100'000, 'x') + "\r\n"))), 431);
  EXPECT_EQ(status_of(web.exchange(get("/", "X: " + std::string(2000, 'x') + "\nY: z\r\n"))), 431);
  EXPECT_EQ(status_of(web.exchange(get("/" + std::string(200, 'x')))), 414);
  EXPECT_EQ(status_of(web.exchange("GET /" + std::string(100'000, 'x'))), 414);
}

GO_TEST(server_limits, limits_bodies) {
  const running_server web(sley_test::echo_body, {.body_bytes = 10});
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 10\r\n", "0123456789"))), 200);
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 11\r\n", "0123456789a"))), 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(status_of(web.exchange(post(chunked, "A\r\n0123456789\r\n0\r\n\r\n"))), 200);
  EXPECT_EQ(status_of(web.exchange(post(chunked, "B\r\n0123456789a\r\n0\r\n\r\n"))), 413);
  const std::string refused =
      web.exchange(post("Expect: 100-continue\r\nContent-Length: 11\r\n", ""));
  EXPECT_EQ(status_of(refused), 413);
}

// Whether they come at once or in pieces.
GO_TEST(server_limits, limits_trailers_and_chunk_sizes) {
  const running_server web(sley_test::echo_body, {.header_bytes = 2000});
  const auto status_for = [&](std::string_view before, std::size_t size, std::string_view after) {
    const auto s = web.connect();
    const std::string all =
        post("Transfer-Encoding: chunked\r\n", std::string(before).append(size, 'x').append(after));
    const std::size_t cut = size % 2 == 0 ? all.size() : all.size() - size / 2;
    s.write_all(bytes_of(all.substr(0, cut)));
    sley::this_goroutine::yield();
    std::error_code error;
    s.write_all(bytes_of(all.substr(cut)), error);
    return status_of(read_to_end(s));
  };
  for (const std::size_t size : {1900U, 1901U}) {
    EXPECT_EQ(status_for("1\r\na\r\n0\r\nX: ", size, "\r\n\r\nGET / HTTP/1.0\r\n\r\n"), 200);
  }
  for (const std::size_t size : {2000U, 2001U, 3500U, 3501U}) {
    EXPECT_EQ(status_for("1\r\na\r\n0\r\nX: ", size, "\r\n\r\n"), 400);
    EXPECT_EQ(status_for("1;x=", size, "\r\na\r\n0\r\n\r\n"), 400);
  }
}

GO_TEST(server_limits, a_handler_sets_its_own_limit) {
  const running_server web(
      [](request& in, response& out) {
        in.body().set_limit(20);
        out.write(in.body().read_all());
      },
      {.body_bytes = 10});
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 20\r\n", std::string(20, 'x')))), 200);
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 21\r\n", std::string(21, 'x')))), 413);
}

// Whether the length says it before, or what comes.
GO_TEST(server_limits, a_body_over_the_limit_of_read_all_is_answered_with_413) {
  std::atomic<int> reports{0};
  const running_server web(
      [](request& in, response& out) {
        if (in.path() == "/partly") {
          std::array<std::byte, 4> begin;
          in.body().read_some(begin);
        }
        out.write(in.body().read_all(10));
      },
      {.on_error = [&](const request*, const std::exception_ptr&) { ++reports; }});
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  for (const char* path : {"/", "/partly"}) {
    const auto post_to = [&](const std::string& fields, const std::string& body) {
      return "POST " + std::string(path) + " HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
    };
    const std::string much(20'000, 'x');
    const std::string answers[] = {
        web.exchange(post_to("Content-Length: 20000\r\n", much)),
        web.exchange(post_to(chunked, "4E20\r\n" + much + "\r\n0\r\n\r\n")),
        web.exchange(post_to(chunked, "F\r\n0123456789abcde\r\n0\r\n\r\n") + get("/"))};
    for (const std::string& answer : answers) {
      EXPECT_EQ(status_of(answer), 413);
      EXPECT_TRUE(has(answer, "\r\nConnection: close\r\n"));
      EXPECT_EQ(count_of(answer, "HTTP/1.1"), 1);
    }
  }
  const std::string refused =
      web.exchange(post("Expect: 100-continue\r\nContent-Length: 11\r\n", ""));
  EXPECT_EQ(status_of(refused), 413);
  EXPECT_EQ(reports, 0);
}

// The answer to a request of the handler's own is no fault of its client.
GO_TEST(server_limits, a_limit_of_another_body_is_a_failure_of_the_handler) {
  const running_server behind([](request&, response& out) { out.write("0123456789a"); });
  const running_server web(
      [&](request& in, response& out) {
        sley::http::client c;
        out.write(c.get("http://" + behind.address).read_all(in.body().read_all(5).size()));
      },
      {.on_error = [](const request*, const std::exception_ptr&) {}});
  EXPECT_EQ(status_of(web.exchange(post("Content-Length: 5\r\n", "01234"))), 500);
}

GO_TEST(server_limits, ends_slow_heads_and_idle_connections) {
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

GO_TEST(server_limits, ends_slow_bodies) {
  const running_server web(sley_test::echo_body, {.read_timeout = 50ms});
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 3\r\n", "a")));
  EXPECT_EQ(status_of(read_to_end(s)), 408);
}

GO_TEST(server_limits, ends_a_write_to_a_client_that_does_not_read) {
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

GO_TEST(server_limits, takes_no_more_connections_than_it_may) {
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

GO_TEST(server_limits, survives_an_exception_of_a_handler) {
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

GO_TEST(server_limits, a_handler_may_exit) {
  const running_server web([](request& in, response& out) {
    if (in.path() == "/exit") sley::this_goroutine::exit();
    out.send(200);
  });
  EXPECT_EQ(web.exchange(get("/exit")), "");
  EXPECT_EQ(status_of(web.exchange(get("/"))), 200);
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
}

GO_TEST(server_limits, misuse_of_a_response_throws) {
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

GO_TEST(server_limits, tells_a_log_of_each_request) {
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

GO_TEST(server_limits, shutdown_lets_requests_end_and_closes_idle_connections) {
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

GO_TEST(server_limits, close_cuts_everything) {
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

GO_TEST(server_limits, serves_after_the_end_nothing) {
  sley::http::server server(hello);
  EXPECT_TRUE(server.shutdown());
  server.serve(sley::net::tcp_listener::listen("127.0.0.1:0"));  // returns
}

// Connections come and go while the server ends.
GO_TEST(server_limits, ends_at_any_moment) {
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

GO_TEST(server_limits, needs_a_handler) {
  EXPECT_THROW(sley::http::server{sley::http::handler()}, std::invalid_argument);
}
