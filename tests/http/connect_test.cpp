// server_options::connect: what it may wait for, and that the end of the server ends the wait; and
// the context of a connection.
#include "support/memory_connection.hpp"
#include "support/web.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using sley::http::connection_ptr;
using sley::http::make_connection;
using sley::http::server_options;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::eventually;
using sley_test::get;
using sley_test::read_exactly;
using sley_test::running_server;
using sley_test::status_of;
using namespace std::chrono_literals;

namespace {

// Waits for a line that comes before HTTP, as some proxies send it.
connection_ptr after_preface(tcp_stream s) {
  read_exactly(s, 6);
  return make_connection(std::move(s));
}

// Such servers, with clients that say nothing.
struct waiting {
  explicit waiting(server_options options) : web(sley_test::hello, std::move(options)) {
    for (int i = 0; i < 20; ++i) clients.push_back(web.connect());
    EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 20; }));
  }
  void expect_ended() const {
    EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
  }

  running_server web;
  std::vector<tcp_stream> clients;
};

server_options quietly(std::function<connection_ptr(tcp_stream)> connect) {
  return {.connect = std::move(connect),
          .on_error = [](const sley::http::request*, std::exception_ptr) {}};
}

}  // namespace

GO_TEST(server_connect, may_wait_for_the_first_bytes) {
  const running_server web(sley_test::hello, {.connect = &after_preface});
  EXPECT_EQ(status_of(web.exchange("proxy\n" + get("/"))), 200);
}

GO_TEST(server_connect, close_ends_a_wait_for_the_peer) {
  waiting w(quietly(&after_preface));
  w.web.server.close();
  w.expect_ended();
}

GO_TEST(server_connect, shutdown_ends_a_wait_for_the_peer) {
  waiting w(quietly(&after_preface));
  EXPECT_TRUE(w.web.server.shutdown());
  w.expect_ended();
}

// Also where the stream has been moved, and others come and go meanwhile.
GO_TEST(server_connect, the_end_comes_at_any_moment) {
  for (int round = 0; round < 50; ++round) {
    running_server web(sley_test::hello, quietly([](tcp_stream s) {
                         const auto kept = std::make_unique<tcp_stream>(std::move(s));
                         return after_preface(std::move(*kept));
                       }));
    std::vector<tcp_stream> clients;
    for (int i = 0; i < 6; ++i) {
      clients.push_back(web.connect());
      if (i % 3 == 0) clients.back().write_all(bytes_of("proxy\n" + get("/")));
      if (i % 3 == 1) clients.back().close();
    }
    for (int i = 0; i < round; ++i) sley::this_goroutine::yield();
    web.server.close();
    EXPECT_TRUE(eventually([&] { return web.server.open_connections() == 0; }));
  }
}

GO_TEST(connection, a_context_ends_what_it_waits_for) {
  auto ends = sley::net::unix_stream::pair();
  const connection_ptr one = make_connection(std::move(ends.first));
  const auto [ctx, cancel] = sley::with_cancel({});
  one->set_context(ctx);
  sley::wait_group group;
  group.go([&] {
    std::byte room{};
    std::error_code error;
    EXPECT_EQ(one->read_some({&room, 1}, error), 0U);
    EXPECT_EQ(error, sley::context_errc::canceled);
  });
  sley_test::let_others_run();
  cancel();
  group.wait();
}

GO_TEST(connection, one_of_the_programs_own_says_that_it_takes_no_context) {
  sley_test::memory_connection own("text", 4);
  try {
    own.set_context(sley::context());
    ADD_FAILURE() << "it takes one";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::operation_not_supported);
  }
}
