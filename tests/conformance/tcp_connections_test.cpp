// TCP listeners and connecting. The rows of Go's tests stand beside the tests.
#include "support/connections.hpp"
#include "support/harness.hpp"
#include "support/known_types.hpp"

#include <sley/net.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::let_others_run;
using sley_test::read_exactly;
using namespace std::chrono_literals;

namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

// ---- listeners ----

// G17.
GO_TEST(tcp, accept_has_deadlines) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  listener.set_deadline(now() + 10ms);
  std::error_code error;
  listener.accept(error);
  EXPECT_EQ(error, std::errc::timed_out);
  listener.set_deadline(sley::time_point::max());
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  EXPECT_TRUE(listener.accept().is_open());
}

GO_TEST(tcp, close_ends_accept) {
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  wait_group group;
  for (int i = 0; i < 3; ++i) {
    group.go([&] {
      std::error_code error;
      EXPECT_FALSE(listener.accept(error).is_open());
      EXPECT_EQ(error, std::errc::operation_canceled);
    });
  }
  let_others_run();
  const auto at = listener.local().to_string();
  listener.close();
  group.wait();
  EXPECT_NO_THROW(tcp_listener::listen(at));  // the port is free again
}

// G18.
GO_TEST(tcp, accept_passes_over_connections_that_have_gone) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  for (int i = 0; i < 5; ++i) {
    const tcp_stream gone = tcp_stream::connect(address);
    gone.set_linger(0s);
  }
  const tcp_stream client = tcp_stream::connect(address);
  client.write_all(bytes_of("here"));
  for (;;) {  // ends: six connections
    std::error_code error;
    const tcp_stream s = listener.accept();
    std::string got(4, ' ');
    s.read_exactly(std::as_writable_bytes(std::span(got)), error);
    if (error) continue;
    EXPECT_EQ(got, "here");
    break;
  }
}

// Descriptors run out, and come back. The sanitizer of undefined behaviour looks at an object by
// way of a pipe when it first sees one of its kind: the library compares errors while there are
// none.
GO_TEST(tcp, accept_survives_a_shortage_of_descriptors) {
  EXPECT_EQ(std::error_code(EMFILE, std::system_category()), std::errc::too_many_files_open);
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  sley_test::let_sanitizers_know_pauses();
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::atomic<bool> has_accepted{false};
  wait_group group;
  group.go([&] {
    EXPECT_TRUE(listener.accept().is_open());
    has_accepted = true;
  });
  sley::this_goroutine::sleep_for(20ms);
  EXPECT_FALSE(has_accepted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  group.wait();
}

// ---- connecting ----

GO_TEST(tcp, names_the_address_it_could_not_connect_to) {
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  listener.close();
  try {
    tcp_stream::connect(address);
    FAIL() << "no server listens there";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::connection_refused);
    EXPECT_NE(std::string(e.what()).find(address), std::string::npos) << e.what();
  }
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[::1:80",
                          "127.0.0.1:-1", "127.0.0.1:80x", "127.0.0.1: 80"}) {
    std::error_code error;
    tcp_stream::connect(bad, error);
    EXPECT_EQ(error, std::errc::invalid_argument) << bad;
    tcp_listener::listen(bad, {}, error);
    EXPECT_EQ(error, std::errc::invalid_argument) << bad;
  }
}

GO_TEST(tcp, options_reach_the_socket) {
  const sley_test::tcp_pair c = sley_test::connect_tcp();
  const auto option = [&](int level, int name) {
    int value = -1;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(c.client.native_handle(), level, name, &value, &size), 0);
    return value;
  };
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 1);
  c.client.set_no_delay(false);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_NODELAY), 0);
  c.client.set_keep_alive(77s);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 77);
  c.client.set_keep_alive(0s);
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 0);
  c.client.set_read_buffer(20'000);
  EXPECT_EQ(option(SOL_SOCKET, SO_RCVBUF), 40'000) << "the system counts twice, see socket(7)";
  c.client.set_write_buffer(20'000);
  EXPECT_EQ(option(SOL_SOCKET, SO_SNDBUF), 40'000);
}

GO_TEST(tcp, without_lingering_a_close_resets_the_connection) {
  sley_test::tcp_pair c = sley_test::connect_tcp();
  c.client.set_linger(0s);
  c.client.close();
  EXPECT_EQ(sley_test::read_error(c.server), std::errc::connection_reset);
}

// G17. A full queue of a listener that never accepts makes further connects wait.
GO_TEST(tcp, connect_has_a_deadline) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0", {.backlog = 0});
  const std::string address = listener.local().to_string();
  std::vector<tcp_stream> in_line;
  std::error_code error;
  const auto start = now();
  while (!error && in_line.size() < 100) {
    const auto limit = sley::with_timeout(sley::context::background(), 50ms);
    in_line.push_back(tcp_stream::connect(address, limit.first, error));
  }
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(error, sley::context_errc::deadline_exceeded);
  EXPECT_LT(now() - start, 20s);
}

// G17. The same queue, and connects that give up; and one whose context ended before.
GO_TEST(tcp, connect_ends_with_its_context) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0", {.backlog = 0});
  const std::string address = listener.local().to_string();
  auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  std::atomic<int> given_up = 0;
  sley::wait_group all;
  for (int i = 0; i < 8; ++i) {
    all.go([&, &limit = ctx] {
      std::error_code error;
      const tcp_stream s = tcp_stream::connect(address, limit, error);
      if (error == sley::context_errc::canceled) ++given_up;
    });
  }
  EXPECT_TRUE(sley_test::eventually([&] { return sley::runtime::num_goroutines() >= 5; }));
  sley_test::let_others_run();
  cancel();
  all.wait();
  EXPECT_GE(given_up, 1);
  std::error_code error;
  tcp_stream::connect(address, ctx, error);
  EXPECT_EQ(error, sley::context_errc::canceled);
  EXPECT_TRUE(sley::net::lookup("localhost", ctx, error).empty() || !error);
}

GO_TEST(tcp, connects_by_name) {
  const tcp_listener listener = tcp_listener::listen(":0");
  const std::string port = std::to_string(listener.local().port());
  const tcp_stream client = tcp_stream::connect("localhost:" + port);
  const tcp_stream server = listener.accept();
  client.write_all(bytes_of("x"));
  EXPECT_EQ(read_exactly(server, 1), "x");
  int on = 0;
  socklen_t size = sizeof on;
  ASSERT_EQ(::getsockopt(server.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
  EXPECT_NE(on, 0);
}
