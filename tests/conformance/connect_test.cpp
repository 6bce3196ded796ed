// Connecting where it takes more than one try: Unix listeners whose queue is full, and ports at
// which a connection might be made with itself.
#include "support/harness.hpp"

#include <sley/context.hpp>
#include <sley/net.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using sley::wait_group;
using sley::net::endpoint;
using sley::net::tcp_stream;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::eventually;
using sley_test::under_sanitizer;
using namespace std::chrono_literals;

namespace {

std::string abstract_name() {
  static std::atomic<int> count = 0;
  return "@sley_connect_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

// A Unix listener that holds as many connections as it can.
struct full_listener {
  std::string name = abstract_name();
  unix_listener listener = unix_listener::listen(name, {.backlog = 0});
  std::vector<unix_stream> queued;

  full_listener() {
    for (;;) {  // ends with the queue full
      std::error_code error;
      const auto [ctx, cancel] = sley::with_timeout(sley::context::background(), 20ms);
      unix_stream s = unix_stream::connect(name, ctx, error);
      if (error) return;
      queued.push_back(std::move(s));
    }
  }
};

}  // namespace

GO_TEST(unix_connect, waits_for_room_in_the_queue_without_a_thread) {
  full_listener full;
  const int count = 200;
  const auto before = sley::runtime::read_stats().threads;
  std::atomic<int> connected = 0;
  wait_group group;
  for (int i = 0; i < count; ++i) {
    group.go([&] {
      unix_stream::connect(full.name);
      ++connected;
    });
  }
  sley::this_goroutine::sleep_for(50ms);
  EXPECT_EQ(connected, 0);
  EXPECT_LE(sley::runtime::read_stats().threads, before + 8);
  wait_group acceptor;
  acceptor.go([&] {
    for (std::size_t i = 0; i < full.queued.size() + count; ++i) full.listener.accept();
  });
  group.wait();
  acceptor.wait();
  EXPECT_EQ(connected, count);
}

GO_TEST(unix_connect, ends_with_its_context) {
  const full_listener full;
  const auto [ctx, cancel] = sley::with_cancel(sley::context::background());
  wait_group group;
  for (int i = 0; i < 10; ++i) {
    group.go([&, limit = ctx] {
      std::error_code error;
      EXPECT_FALSE(unix_stream::connect(full.name, limit, error).is_open());
      EXPECT_EQ(error, sley::context_errc::canceled);
    });
  }
  sley_test::let_others_run();
  cancel();
  group.wait();
  const auto [timed, cancel_timed] = sley::with_timeout(sley::context::background(), 10ms);
  try {
    unix_stream::connect(full.name, timed);
    ADD_FAILURE() << "it is connected";
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::timed_out);
    EXPECT_NE(std::string(e.what()).find(full.name), std::string::npos) << e.what();
  }
}

// A goroutine that waits for room learns that there will be none.
GO_TEST(unix_connect, is_refused_when_the_listener_goes) {
  full_listener full;
  std::error_code error;
  wait_group group;
  group.go([&] { unix_stream::connect(full.name, error); });
  sley_test::let_others_run();
  full.listener.close();
  group.wait();
  EXPECT_EQ(error, std::errc::connection_refused);
}

FOREIGN_TEST(unix_connect, threads_of_the_users_wait_as_well) {
  full_listener full;
  std::thread other([&] { unix_stream::connect(full.name); });
  for (std::size_t i = 0; i < full.queued.size() + 1; ++i) full.listener.accept();
  other.join();
}

namespace {

// A free port that the kernel may choose for connections (it prefers even ones).
std::uint16_t ephemeral_port(const endpoint& loopback) {
  for (std::uint16_t port = 40'000; port < 60'000; port = static_cast<std::uint16_t>(port + 2)) {
    const endpoint at(loopback.host(), port);
    const int s = ::socket(at.family(), SOCK_STREAM, 0);
    const bool is_free = ::bind(s, at.data(), at.size()) == 0;
    ::close(s);
    if (is_free) return port;
  }
  return 0;
}

// Whether there is a connection of the port with itself, open or in TIME_WAIT.
bool is_kept_by_itself(std::uint16_t port) {
  char suffix[8];
  std::snprintf(suffix, sizeof suffix, ":%04X", unsigned{port});
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    std::string number, local, remote, rest;
    while (lines >> number >> local >> remote && std::getline(lines, rest)) {
      if (local == remote && local.ends_with(suffix)) return true;
    }
  }
  return false;
}

// The kernel is asked for each port in turn, so all of them are tried within this many.
constexpr int tries_for_all_ports = 40'000;

void expect_no_connection_with_itself(const char* ip) {
  std::error_code error;
  static_cast<void>(sley::net::tcp_listener::listen(endpoint(ip, 0).to_string(), {}, error));
  if (error) GTEST_SKIP() << ip << ": " << error.message();
  // None is free in the minute (TIME_WAIT) after very many connections have been closed.
  std::uint16_t port = 0;
  ASSERT_TRUE(eventually([&] { return (port = ephemeral_port(endpoint(ip, 0))) != 0; }));
  const endpoint to(ip, port);
  const int tries = under_sanitizer ? tries_for_all_ports / 10 : tries_for_all_ports;
  for (int i = 0; i < tries; ++i) {
    const tcp_stream s = tcp_stream::connect(to.to_string(), error);
    if (error == std::errc::connection_refused) continue;
    // Another process listens there now, or did so a moment ago.
    const bool is_anothers = error ? error == std::errc::connection_reset : s.local() != to;
    ASSERT_TRUE(is_anothers) << error.message() << " at try " << i;
  }
  // Another process may have a short moment of it under way.
  EXPECT_TRUE(eventually([port] { return !is_kept_by_itself(port); })) << "the port is kept";
}

}  // namespace

GO_TEST(tcp_connect, never_connects_with_itself) { expect_no_connection_with_itself("127.0.0.1"); }
GO_TEST(tcp_connect, never_connects_with_itself_by_ipv6) {
  expect_no_connection_with_itself("::1");
}
