// net::serve: which connections it takes, how it ends them, and what it tells of both. The facts
// hold for TCP and Unix listeners; tests/tls/serve_test.cpp has TLS.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/thread_group.hpp"

#include <sley/net.hpp>
#include <sley/serve.hpp>
#include <sley/sync.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

using sley::context;
using sley::context_errc;
using sley::net::serve;
using sley::net::serve_options;
using sley::net::serve_result;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::echo;
using sley_test::eventually;
using sley_test::let_others_run;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

std::string unix_name() {
  static std::atomic<int> number{0};
  return "@sley-serve-" + std::to_string(::getpid()) + '-' + std::to_string(number++);
}

// What is common to both kinds.
struct tcp {
  using stream = tcp_stream;
  static tcp_listener listen() { return tcp_listener::listen("127.0.0.1:0"); }
  static std::string address(const tcp_listener& l) { return l.local().to_string(); }
};
struct unix_domain {
  using stream = unix_stream;
  static unix_listener listen() { return unix_listener::listen(unix_name()); }
  static std::string address(const unix_listener& l) { return l.local().host(); }
};

// A serve() in a goroutine, which its context ends.
template <class Kind>
class running {
 public:
  using stream = typename Kind::stream;

  template <class Handler>
  explicit running(Handler handler, serve_options options = {}) : options_(std::move(options)) {
    auto listener = Kind::listen();
    address_ = Kind::address(listener);
    group_.go([this, handler, l = std::move(listener)]() mutable {
      result_ = serve(l, ctx_, handler, options_);
      EXPECT_FALSE(l.is_open());
    });
  }
  ~running() { end(); }

  stream connect() const { return stream::connect(address_); }
  void cancel() const { cancel_(); }
  serve_result end() {
    cancel_();
    return wait();
  }
  serve_result wait() {
    group_.wait();
    return result_;
  }

 private:
  std::pair<context, sley::cancel_function> made_ = sley::with_cancel(context::background());
  const context& ctx_ = made_.first;
  const sley::cancel_function& cancel_ = made_.second;
  const serve_options options_;
  std::string address_;
  serve_result result_;
  sley::wait_group group_;
};

template <class Stream>
void expect_echo(const Stream& s, const std::string& text) {
  s.write_all(text);
  EXPECT_EQ(read_exactly(s, text.size()), text);
}

template <class Kind>
void serves_many() {
  running<Kind> server([](typename Kind::stream s, const context&) { echo(s); });
  sley::wait_group clients;
  for (int i = 0; i < 50; ++i) {
    clients.go([&, i] {
      const auto s = server.connect();
      for (int round = 0; round < rounds(10); ++round) expect_echo(s, "text " + std::to_string(i));
    });
  }
  clients.wait();
  const serve_result r = server.end();
  EXPECT_EQ(r.reason, context_errc::canceled);
  EXPECT_EQ(r.accepted, 50U);
  EXPECT_EQ(r.failed, 0U);
}

}  // namespace

// ---- connections ----

GO_TEST(serve, has_a_goroutine_for_each_connection) {
  serves_many<tcp>();
  serves_many<unix_domain>();
}

GO_TEST(serve, takes_handlers_of_every_form) {
  const auto expect_hello = [](auto handler) {
    running<tcp> server(handler);
    EXPECT_EQ(read_to_end(server.connect()), "hello");
  };
  expect_hello([](tcp_stream s) { s.write_all("hello"); });
  expect_hello([](const tcp_stream& s) { s.write_all("hello"); });
  expect_hello([](tcp_stream& s) { s.write_all("hello"); });
  expect_hello([](tcp_stream&& s) { s.write_all("hello"); });
  expect_hello([](tcp_stream s, const context&) { s.write_all("hello"); });
  expect_hello([](tcp_stream& s, context) { s.write_all("hello"); });
  expect_hello([](const sley::byte_stream& s) { s.write_all("hello"); });
  expect_hello(+[](tcp_stream& s) { s.write_all("hello"); });
  expect_hello([n = std::make_shared<int>(1)](auto& s, const auto&) { s.write_all("hello"); });
}

GO_TEST(serve, takes_a_listener_by_value) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  sley::chan<std::string> addresses(1);
  sley::wait_group group;
  group.go([&, with = ctx] {
    auto l = tcp_listener::listen("127.0.0.1:0");
    addresses.send(l.local().to_string());
    serve(std::move(l), with, [](tcp_stream s) { s.write_all("hello"); });
  });
  EXPECT_EQ(read_to_end(tcp_stream::connect(*addresses.receive())), "hello");
  cancel();
  group.wait();
}

GO_TEST(serve, further_connections_wait_for_a_place) {
  std::atomic<int> open{0};
  std::atomic<int> most{0};
  running<tcp> server(
      [&](tcp_stream s) {
        const int now = ++open;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        echo(s);
        --open;
      },
      {.connections = 2});
  std::vector<tcp_stream> all;
  for (int i = 0; i < 5; ++i) all.push_back(server.connect());
  expect_echo(all[0], "a");
  expect_echo(all[1], "b");
  all[2].write_all("c");
  let_others_run();
  EXPECT_EQ(open, 2);
  all[0].close();
  EXPECT_EQ(read_exactly(all[2], 1), "c");
  EXPECT_EQ(most, 2);
}

GO_TEST(serve, ends_while_all_places_are_taken) {
  running<tcp> server([](tcp_stream s) { echo(s); }, {.connections = 1});
  const auto s = server.connect();
  expect_echo(s, "a");
  EXPECT_EQ(server.end().accepted, 1U);
}

// ---- handlers that fail ----

GO_TEST(serve, an_exception_ends_its_connection_alone) {
  sley::mutex lock;
  std::vector<std::string> told;
  running<tcp> server(
      [](tcp_stream s) {
        const std::string first = read_exactly(s, 1);
        if (first == "t") throw std::runtime_error("failed");
        if (first == "i") throw 1;
        if (first == "x") sley::this_goroutine::exit();
        echo(s);
      },
      {.on_error = [&](std::exception_ptr e) {
        const std::lock_guard guard(lock);
        try {
          std::rethrow_exception(e);
        } catch (const std::exception& known) {
          told.push_back(known.what());
        } catch (...) {
          told.push_back("unknown");
        }
      }});
  const auto good = server.connect();
  good.write_all("e");
  for (const char* what : {"t", "i", "x"}) {
    const auto bad = server.connect();
    bad.write_all(what);
    EXPECT_EQ(read_to_end(bad), "");
  }
  expect_echo(good, "still there");
  const serve_result r = server.end();
  EXPECT_EQ(r.failed, 2U);
  EXPECT_EQ(r.accepted, 4U);
  std::ranges::sort(told);  // a client may see the end of its connection before on_error is called
  EXPECT_EQ(told, (std::vector<std::string>{"failed", "unknown"}));
}

GO_TEST(serve, a_failure_is_one_line_on_stderr) {
  testing::internal::CaptureStderr();
  running<tcp> server([](tcp_stream) { throw std::runtime_error("no\nline"); });
  EXPECT_EQ(read_to_end(server.connect()), "");
  server.end();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sley: serve: a connection was given up: no\\nline\n");
}

// ---- the end ----

template <class Kind>
void ends_with_its_context() {
  std::atomic<bool> has_ended{false};
  running<Kind> server([&](typename Kind::stream s, const context& ctx) {
    std::error_code error;
    std::byte room[1];
    s.write_all("x");
    s.read_some(room, error);
    EXPECT_EQ(error, context_errc::canceled);
    EXPECT_EQ(ctx.error(), context_errc::canceled);
    has_ended = true;
  });
  const auto s = server.connect();
  EXPECT_EQ(read_exactly(s, 1), "x");
  const serve_result r = server.end();
  EXPECT_TRUE(has_ended) << "serve() waits for its handlers";
  EXPECT_EQ(r.reason, context_errc::canceled);
  EXPECT_LE(r.cut, 1U);
  EXPECT_EQ(read_to_end(s), "");
}

GO_TEST(serve, a_context_ends_waits_of_its_streams) {
  ends_with_its_context<tcp>();
  ends_with_its_context<unix_domain>();
}

GO_TEST(serve, a_handler_may_let_the_end_through) {
  serve_options options;
  options.on_error = [](std::exception_ptr) { ADD_FAILURE() << "the end is no error"; };
  running<tcp> server(
      [](tcp_stream s) {
        s.write_all("x");
        echo(s);
      },
      options);
  const auto s = server.connect();
  EXPECT_EQ(read_exactly(s, 1), "x");
  EXPECT_EQ(server.end().failed, 0U);
}

GO_TEST(serve, the_deadline_of_a_context_is_the_reason) {
  const auto [ctx, cancel] = sley::with_timeout(context::background(), 5ms);
  const serve_result r = serve(tcp::listen(), ctx, [](tcp_stream) {});
  EXPECT_EQ(r.reason, context_errc::deadline_exceeded);
  EXPECT_EQ(serve(tcp::listen(), ctx, [](tcp_stream) {}).reason, ctx.error()) << "ended before";
}

GO_TEST(serve, handlers_have_the_grace_to_finish) {
  running<tcp> server(
      [](tcp_stream s, const context& ctx) {
        s.write_all("x");
        ctx.done().receive();
        s.write_all("bye");
      },
      {.grace = 1h});
  const auto s = server.connect();
  EXPECT_EQ(read_exactly(s, 1), "x");
  const serve_result r = server.end();
  EXPECT_EQ(r.cut, 0U);
  EXPECT_EQ(read_to_end(s), "bye");
}

GO_TEST(serve, streams_end_when_the_grace_is_over) {
  running<tcp> server(
      [](tcp_stream s, const context& ctx) {
        s.write_all("x");
        ctx.done().receive();
        std::error_code error;
        std::byte room[1];
        s.read_some(room, error);  // does not look at its context
        EXPECT_EQ(error, context_errc::canceled);
      },
      {.grace = 5ms});
  const auto s = server.connect();
  EXPECT_EQ(read_exactly(s, 1), "x");
  const auto start = std::chrono::steady_clock::now();
  const serve_result r = server.end();
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
  EXPECT_EQ(r.cut, 1U);
}

GO_TEST(serve, the_largest_grace_has_no_end) {
  const sley::chan<void> release;
  running<tcp> server(
      [&](tcp_stream s) {
        s.write_all("x");
        release.receive();
        s.write_all("y");
      },
      {.grace = sley::time_span(sley::time_span::max())});
  const auto s = server.connect();
  EXPECT_EQ(read_exactly(s, 1), "x");
  server.cancel();
  let_others_run();
  release.send();
  EXPECT_EQ(server.wait().cut, 0U);
  EXPECT_EQ(read_to_end(s), "y");
}

GO_TEST(serve, closing_the_listener_ends_it) {
  auto listener = tcp::listen();
  const auto address = listener.local().to_string();
  serve_result r;
  sley::wait_group group;
  group.go([&] {
    r = serve(listener, context::background(), [](tcp_stream s, const context& ctx) {
      s.write_all("x");
      ctx.done().receive();
    });
  });
  const auto s = tcp_stream::connect(address);
  EXPECT_EQ(read_exactly(s, 1), "x");
  listener.close();
  group.wait();
  EXPECT_EQ(r.reason, std::make_error_code(std::errc::operation_canceled));
  EXPECT_EQ(r.accepted, 1U);
}

GO_TEST(serve, a_listener_of_nothing_ends_at_once) {
  tcp_listener none;
  const serve_result r = serve(none, context::background(), [](tcp_stream) {});
  EXPECT_EQ(r.reason, std::errc::bad_file_descriptor);
}

GO_TEST(serve, a_null_handler_is_refused) {
  auto listener = tcp::listen();
  const std::function<void(tcp_stream)> none;
  void (*const null)(tcp_stream) = nullptr;
  EXPECT_THROW(serve(listener, context::background(), none), std::logic_error);
  EXPECT_THROW(serve(listener, context::background(), null), std::logic_error);
  EXPECT_TRUE(listener.is_open());
}

GO_TEST(serve, the_context_of_a_handler_has_the_values) {
  const auto [ctx, cancel] = sley::with_cancel(sley::with_value(context::background(), "n", 7));
  auto listener = tcp::listen();
  const auto address = listener.local().to_string();
  sley::wait_group group;
  group.go([&, with = ctx] {
    serve(listener, with,
          [](tcp_stream s, const context& c) { s.write_all(std::to_string(*c.value<int>("n"))); });
  });
  EXPECT_EQ(read_to_end(tcp_stream::connect(address)), "7");
  cancel();
  group.wait();
}

FOREIGN_TEST(serve, a_foreign_thread_blocks) {
  auto [ctx, cancel] = sley::with_cancel(context::background());
  auto listener = tcp::listen();
  const auto address = listener.local().to_string();
  sley_test::thread_group threads;
  threads.go([&, with = ctx] {
    EXPECT_EQ(serve(listener, with, [](tcp_stream s) { s.write_all("hello"); }).accepted, 1U);
  });
  EXPECT_EQ(read_to_end(tcp_stream::connect(address)), "hello");
  cancel();
  threads.wait();
}

// Ends at random points, while connections come and go.
GO_TEST(serve, a_storm_of_connections_and_ends_leaves_nothing) {
  for (int round = 0; round < rounds(20); ++round) {
    running<tcp> server([](tcp_stream s) { echo(s); }, {.connections = 3});
    sley::wait_group clients;
    for (int i = 0; i < 8; ++i) {
      clients.go([&] {
        for (int n = 0; n < 10; ++n) {
          std::error_code error;
          try {
            const auto s = server.connect();
            s.write_all(std::string_view("x"), error);
            std::byte room[1];
            if (!error) s.read_some(room, error);
          } catch (const std::system_error&) {  // the listener has closed
            return;
          }
        }
      });
    }
    sley::this_goroutine::sleep_for(std::chrono::microseconds(100 * round));
    server.end();
    clients.wait();
  }
}
