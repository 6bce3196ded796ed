// The time limit of handlers, server_options::handler_timeout: what the client gets and when, and
// what becomes of a handler that looks at its context, and of one that does not.
#include "support/web.hpp"

#include <sley/time.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using sley::http::access_record;
using sley::http::request;
using sley::http::response;
using sley::http::server_options;
using sley_test::body_of;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::has;
using sley_test::hello;
using sley_test::post;
using sley_test::read_head;
using sley_test::read_to_end;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

namespace {

// What a server told of its requests and errors.
class reports {
 public:
  server_options options(sley::time_span limit) {
    server_options o;
    o.handler_timeout = limit;
    o.access_log = [this](const access_record& r) {
      const std::lock_guard guard(lock_);
      statuses_.push_back(r.status);
      bytes_.push_back(r.body_bytes);
    };
    o.on_error = [this](const request*, std::exception_ptr e) {
      const std::lock_guard guard(lock_);
      try {
        std::rethrow_exception(e);
      } catch (const std::exception& known) {
        errors_.push_back(known.what());
      }
    };
    return o;
  }
  std::vector<int> statuses() {
    const std::lock_guard guard(lock_);
    return statuses_;
  }
  std::vector<std::uint64_t> bytes() {
    const std::lock_guard guard(lock_);
    return bytes_;
  }
  std::vector<std::string> errors() {
    const std::lock_guard guard(lock_);
    return errors_;
  }

 private:
  sley::mutex lock_;
  std::vector<int> statuses_;
  std::vector<std::uint64_t> bytes_;
  std::vector<std::string> errors_;
};

// As exchange(), but it does not end its stream: then it would count as gone.
std::string ask(const running_server& web, std::string_view bytes) {
  const auto s = web.connect();
  s.write_all(bytes);
  return read_to_end(s);
}

void wait_for_the_end(request& in, response&) { in.context().done().receive(); }

}  // namespace

GO_TEST(handler_timeout, the_context_ends_and_the_client_gets_503) {
  reports told;
  std::atomic<bool> is_deadline{false};
  const running_server web(
      [&](request& in, response& out) {
        EXPECT_TRUE(in.context().deadline());
        in.context().done().receive();
        is_deadline = in.context().error() == sley::context_errc::deadline_exceeded;
        std::error_code error;
        out.write("too late", error);
      },
      told.options(20ms));
  const std::string answer = ask(web, get("/", "Connection: close\r\n"));
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_EQ(body_of(answer), "503 Service Unavailable\n");
  EXPECT_TRUE(has(answer, "Connection: close\r\n")) << answer;
  EXPECT_TRUE(has(answer, "Content-Length: 24\r\n")) << answer;
  EXPECT_TRUE(has(answer, "Date: ")) << answer;
  EXPECT_TRUE(eventually([&] { return !told.statuses().empty(); }));
  EXPECT_EQ(told.statuses(), std::vector<int>{503});
  EXPECT_EQ(told.bytes(), std::vector<std::uint64_t>{24});
  EXPECT_EQ(told.errors(), std::vector<std::string>());
  EXPECT_TRUE(is_deadline);
}

GO_TEST(handler_timeout, a_handler_that_ignores_its_context_delays_no_answer) {
  reports told;
  const sley::chan<void> release;
  std::vector<std::error_code> errors(3);
  sley::chan<void> has_ended(1);
  const running_server web(
      [&](request& in, response& out) {
        release.receive();
        out.write("x", errors[0]);
        out.flush(errors[1]);
        std::byte room[10];
        in.body().read_some(room, errors[2]);
        has_ended.send();
      },
      told.options(10ms));
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 5\r\n", "12345")));
  const std::string head = read_head(s);
  EXPECT_EQ(status_of(head), 503);
  EXPECT_EQ(sley_test::read_exactly(s, 24), "503 Service Unavailable\n");
  EXPECT_EQ(web.server.open_connections(), 1U) << "the handler has not returned";
  release.send();
  has_ended.receive();
  EXPECT_EQ(errors[1], std::errc::timed_out);
  EXPECT_EQ(errors[2], std::errc::timed_out);
  EXPECT_EQ(read_to_end(s), "") << "only one answer, and the connection closes";
  EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
  EXPECT_EQ(told.errors(), std::vector<std::string>());
}

GO_TEST(handler_timeout, an_exception_because_of_the_time_is_answered_with_503) {
  reports told;
  const running_server web(
      [&](request& in, response&) {
        sley::this_goroutine::sleep_for(10min, in.context());  // throws deadline_exceeded
      },
      told.options(5ms));
  for (int i = 0; i < sley_test::rounds(20); ++i) {
    EXPECT_EQ(status_of(ask(web, get("/", "Connection: close\r\n"))), 503);
  }
  EXPECT_EQ(told.errors(), std::vector<std::string>());
}

GO_TEST(handler_timeout, another_exception_is_reported_and_the_client_gets_503) {
  reports told;
  const running_server web(
      [&](request& in, response&) {
        in.context().done().receive();
        throw std::runtime_error("lost");
      },
      told.options(5ms));
  EXPECT_EQ(status_of(ask(web, get("/", "Connection: close\r\n"))), 503);
  EXPECT_TRUE(eventually([&] { return told.errors() == std::vector<std::string>{"lost"}; }));
}

GO_TEST(handler_timeout, an_answer_that_has_begun_goes_on) {
  reports told;
  const running_server web(
      [&](request& in, response& out) {
        out.write("begun ");
        out.flush();
        in.context().done().receive();
        out.write("and ended");
      },
      told.options(10ms));
  const std::string answer = ask(web, get("/", "Connection: close\r\n"));
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_TRUE(has(answer, "begun ")) << answer;
  EXPECT_TRUE(has(answer, "and ended")) << answer;
  EXPECT_TRUE(answer.ends_with("0\r\n\r\n")) << answer;
}

GO_TEST(handler_timeout, an_answer_in_time_is_the_handlers_and_the_connection_stays) {
  for (const sley::time_span limit :
       {sley::time_span(10min), sley::time_span(0ns), sley::time_span(sley::time_span::max())}) {
    reports told;
    const running_server web(
        [&](request& in, response& out) {
          EXPECT_EQ(in.context().deadline().has_value(), limit == sley::time_span(10min));
          hello(in, out);
        },
        told.options(limit));
    const auto s = web.connect();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(sley_test::ask_for_hello(s)), "hello");
  }
}

GO_TEST(handler_timeout, each_request_has_its_own_time) {
  std::atomic<int> requests{0};
  server_options options;
  options.handler_timeout = 2s;
  const running_server web(
      [&](request&, response& out) {
        if (++requests > 1) sley::this_goroutine::sleep_for(1ms);
        out.send(200, "text/plain", "hello");
      },
      options);
  const auto s = web.connect();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(body_of(sley_test::ask_for_hello(s)), "hello");
}

GO_TEST(handler_timeout, head_gets_no_body) {
  reports told;
  const running_server web(&wait_for_the_end, told.options(5ms));
  const std::string answer = ask(web, "HEAD / HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_TRUE(has(answer, "Content-Length: 24\r\n")) << answer;
  EXPECT_EQ(body_of(answer), "");
}

// What is kept back until the end was not sent.
GO_TEST(handler_timeout, a_buffered_answer_has_not_begun) {
  reports told;
  const running_server web(
      [&](request& in, response& out) {
        out.headers().set("X-Secret", "1");
        out.write("half an ");
        in.context().done().receive();
      },
      told.options(5ms));
  const std::string answer = ask(web, get("/", "Connection: close\r\n"));
  EXPECT_EQ(status_of(answer), 503);
  EXPECT_FALSE(has(answer, "half an ") || has(answer, "X-Secret")) << answer;
}

GO_TEST(handler_timeout, a_slow_body_is_the_handlers_time) {
  reports told;
  const running_server web(&sley_test::echo_body, told.options(10ms));
  const auto s = web.connect();
  s.write_all(bytes_of(post("Content-Length: 5\r\n", "12")));
  EXPECT_EQ(status_of(read_head(s)), 503);
  s.write_all(bytes_of("345"));
}

// Without any other limit, the handler would wait for ever.
GO_TEST(handler_timeout, ends_a_read_of_the_body_under_way) {
  reports told;
  server_options options = told.options(10ms);
  options.read_timeout = 0s;
  sley::chan<std::error_code> ended(1);
  const running_server web(
      [&](request& in, response& out) {
        std::error_code error;
        in.body().read_all(100, error);
        ended.send(error);
        out.write("too late", error);
      },
      options);
  for (int i = 0; i < sley_test::rounds(20); ++i) {
    const auto s = web.connect();
    s.write_all(bytes_of(post("Content-Length: 5\r\n", "12")));
    EXPECT_EQ(status_of(read_head(s)), 503);
    EXPECT_EQ(ended.receive(), std::make_error_code(std::errc::timed_out));
  }
  EXPECT_EQ(told.errors(), std::vector<std::string>());
}

// The wait for "100 Continue" is no answer.
GO_TEST(handler_timeout, a_client_that_was_told_to_continue_gets_503) {
  reports told;
  const running_server web(&sley_test::echo_body, told.options(20ms));
  const auto s = web.connect();
  s.write_all(bytes_of(post("Expect: 100-continue\r\nContent-Length: 5\r\n", "")));
  std::string head = read_head(s);
  if (status_of(head) == 100) head = read_head(s);
  EXPECT_EQ(status_of(head), 503);
}

GO_TEST(handler_timeout, a_negative_one_has_passed_at_once) {
  reports told;
  const running_server web(&wait_for_the_end, told.options(-1ns));
  EXPECT_EQ(status_of(ask(web, get("/", "Connection: close\r\n"))), 503);
}

// The handler ends when its time does, again and again: one answer each, whichever is first.
GO_TEST(handler_timeout, a_race_of_the_two_gives_one_answer) {
  reports told;
  const running_server web(
      [&](request&, response& out) {
        sley::this_goroutine::sleep_for(1ms);
        out.send(200, "text/plain", "hello");
      },
      told.options(1ms));
  for (int i = 0; i < sley_test::rounds(200); ++i) {
    const std::string answer = ask(web, get("/", "Connection: close\r\n"));
    EXPECT_EQ(sley_test::count_of(answer, "HTTP/1.1 "), 1) << answer;
    EXPECT_TRUE(status_of(answer) == 503 || body_of(answer) == "hello") << answer;
  }
  EXPECT_EQ(told.errors(), std::vector<std::string>());
}

GO_TEST(handler_timeout, shutdown_waits_for_a_handler_past_its_time) {
  const sley::chan<void> release;
  server_options options;
  options.handler_timeout = 5ms;
  running_server web([&](request&, response&) { release.receive(); }, options);
  const auto s = web.connect();
  s.write_all(bytes_of(get("/")));
  EXPECT_EQ(status_of(read_head(s)), 503);
  EXPECT_FALSE(web.server.shutdown(sley_test::in(5ms)));
  release.send();
  EXPECT_TRUE(web.server.shutdown());
}

GO_TEST(handler_timeout, a_websocket_has_no_limit) {
  server_options options;
  options.handler_timeout = 100ms;
  const running_server web(
      [](request& in, response& out) {
        auto ws = sley::http::websocket::accept(in, out);
        sley::this_goroutine::sleep_for(300ms);
        EXPECT_FALSE(in.context().error());
        EXPECT_FALSE(in.context().deadline());
        const auto message = ws.read();
        ASSERT_TRUE(message);
        ws.write_text(message->data);
      },
      options);
  const auto s = web.connect();
  s.write_all(get("/",
                  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  EXPECT_EQ(status_of(read_head(s)), 101);
  s.write_all(std::string_view("\x81\x82\0\0\0\0hi", 8));  // masked with zeros
  EXPECT_EQ(sley_test::read_exactly(s, 4), "\x81\x02hi");
}
