// Datagrams and Unix sockets: what differs from TCP. The rows of Go's tests stand beside.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>

#include <unistd.h>

using sley::wait_group;
using sley::net::endpoint;
using sley::net::udp_socket;
using sley::net::unix_datagram;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::bytes_of;
using sley_test::go_until_parked;
using sley_test::let_others_run;
using sley_test::read_exactly;
using sley_test::rounds;
using namespace std::chrono_literals;

namespace {

std::string received(std::span<const std::byte> bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::error_code receive_error(const udp_socket& s) {
  std::array<std::byte, 10> buffer;
  std::error_code error;
  s.receive(buffer, error);
  return error;
}

std::string fresh_path() {
  static std::atomic<int> count = 0;
  return "/tmp/sley_unix_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

}  // namespace

GO_TEST(udp, carries_whole_datagrams_and_names_the_sender) {
  const udp_socket a = udp_socket::bind("127.0.0.1:0"), b = udp_socket::bind("127.0.0.1:0");
  EXPECT_EQ(a.send_to(bytes_of("one"), b.local()), 3U);
  EXPECT_EQ(a.send_to(bytes_of("three"), b.local()), 5U);
  std::array<std::byte, 100> buffer;
  endpoint from;
  EXPECT_EQ(received(buffer, b.receive_from(buffer, from)), "one");
  EXPECT_EQ(from, a.local());
  EXPECT_EQ(received(buffer, b.receive_from(buffer, from)), "three");
}

GO_TEST(udp, a_connected_socket_needs_no_address) {
  const udp_socket server = udp_socket::bind("127.0.0.1:0");
  const udp_socket client = udp_socket::connect(server.local().to_string());
  wait_group group;
  group.go([&] {
    std::array<std::byte, 100> buffer;
    endpoint from;
    const std::size_t n = server.receive_from(buffer, from);
    server.send_to(std::span(buffer).first(n), from);
  });
  let_others_run();
  client.send(bytes_of("there and back"));
  std::array<std::byte, 100> buffer;
  EXPECT_EQ(received(buffer, client.receive(buffer)), "there and back");
  group.wait();
}

// G13.
GO_TEST(udp, deadlines_and_close_end_every_wait) {
  udp_socket s = udp_socket::bind("127.0.0.1:0");
  std::array<std::byte, 10> buffer;
  std::error_code error;
  s.set_read_deadline(std::chrono::steady_clock::now() + 5ms);
  s.receive(buffer, error);
  EXPECT_EQ(error, std::errc::timed_out);
  s.set_read_deadline(sley::time_point::max());
  wait_group group;
  group.go([&] {
    std::error_code canceled;
    s.receive(buffer, canceled);
    EXPECT_EQ(canceled, std::errc::operation_canceled);
  });
  let_others_run();
  s.close();
  group.wait();
}

// G13.
GO_TEST(udp, a_deadline_set_by_another_ends_a_read_that_waits_already) {
  const udp_socket s = udp_socket::bind("127.0.0.1:0");
  for (const auto delay : {-1ms, 0ms, 1ms}) {
    s.set_read_deadline(sley::time_point::max());
    const sley::chan<std::error_code> ended(1);
    go_until_parked([&s, ended] { ended.send(receive_error(s)); });
    s.set_read_deadline(std::chrono::steady_clock::now() + delay);
    EXPECT_EQ(*ended.receive(), std::errc::timed_out);
  }
  EXPECT_EQ(receive_error(s), std::errc::timed_out) << "until it is set anew";
  s.set_read_deadline(sley::time_point::max());
  s.send_to(bytes_of("x"), s.local());
  EXPECT_EQ(receive_error(s), std::error_code());
}

GO_TEST(unix_stream, carries_bytes_and_removes_its_file) {
  const std::string path = fresh_path();
  {
    const unix_listener listener = unix_listener::listen(path);
    const unix_stream client = unix_stream::connect(path);
    const unix_stream server = listener.accept();
    client.write_all(bytes_of("hello"));
    EXPECT_EQ(read_exactly(server, 5), "hello");
    EXPECT_EQ(listener.local().to_string(), path);
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it is gone with the listener";
  std::error_code error;
  unix_stream::connect(path, error);
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
  unix_stream::connect(std::string(200, 'x'), error);
  EXPECT_EQ(error, std::errc::filename_too_long);
}

GO_TEST(unix_stream, may_have_an_abstract_name) {
  const std::string name = "@sley_test_" + std::to_string(::getpid());
  const unix_listener listener = unix_listener::listen(name);
  EXPECT_EQ(listener.local().host(), name);
  const unix_stream client = unix_stream::connect(name);
  const unix_stream server = listener.accept();
  server.write_all(bytes_of("x"));
  EXPECT_EQ(read_exactly(client, 1), "x");
}

// Also by way of what it has in common with others, and where several do it.
GO_TEST(unix_stream, a_listener_removes_its_file_and_no_other) {
  const std::string path = fresh_path();
  unix_listener listener = unix_listener::listen(path);
  std::error_code error;
  unix_listener::listen(path, {}, error);
  EXPECT_EQ(error, std::errc::address_in_use);
  EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "it is the first one's";
  static_cast<sley::net::listener&>(listener).close();
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  const unix_listener next = unix_listener::listen(path);
  listener.close();
  EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "it is another one's";
  listener = unix_listener::listen(fresh_path());
  const std::string second = listener.local().host();
  listener = unix_listener();
  EXPECT_NE(::access(second.c_str(), F_OK), 0);
}

GO_TEST(unix_stream, comes_in_pairs) {
  auto [a, b] = unix_stream::pair();
  a.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(b, 5), "hello");
  b.write_all(bytes_of("world"));
  EXPECT_EQ(read_exactly(a, 5), "world");
  a.close();
  EXPECT_EQ(sley_test::read_to_end(b), "");
}

GO_TEST(unix_datagram, carries_whole_datagrams_and_names_the_sender) {
  const std::string path_a = fresh_path(), path_b = fresh_path();
  {
    const unix_datagram a = unix_datagram::bind(path_a), b = unix_datagram::bind(path_b);
    EXPECT_EQ(a.send_to(bytes_of("one"), endpoint::unix_path(path_b)), 3U);
    EXPECT_EQ(a.send_to(bytes_of("three"), b.local()), 5U);
    std::array<std::byte, 100> buffer;
    endpoint from;
    EXPECT_EQ(received(buffer, b.receive_from(buffer, from)), "one");
    EXPECT_EQ(from.to_string(), path_a);
    EXPECT_EQ(received(buffer, b.receive_from(buffer, from)), "three");
    const unix_datagram nameless = unix_datagram::connect(path_b);
    nameless.send(bytes_of("who?"));
    EXPECT_EQ(received(buffer, b.receive_from(buffer, from)), "who?");
    EXPECT_EQ(from.to_string(), "");
    EXPECT_EQ(nameless.remote(), b.local());
  }
  EXPECT_NE(::access(path_a.c_str(), F_OK), 0) << "it is gone with the socket";
  std::error_code error;
  unix_datagram::connect(path_b, error);
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

GO_TEST(unix_datagram, comes_in_pairs) {
  const auto [a, b] = unix_datagram::pair();
  std::array<std::byte, 100> buffer;
  wait_group group;
  group.go([&other = b] {
    std::array<std::byte, 100> there;
    const std::size_t n = other.receive(there);
    other.send(std::span(there).first(n));
  });
  let_others_run();
  a.send(bytes_of("there and back"));
  EXPECT_EQ(received(buffer, a.receive(buffer)), "there and back");
  group.wait();
}

// More than a queue holds: all senders wait, connected or not.
GO_TEST(unix_datagram, nothing_is_lost_when_the_receiver_is_slow) {
  const unix_datagram to = unix_datagram::bind(fresh_path());
  constexpr int each = rounds(2'000);
  const auto numbers = [](auto send) {
    for (int i = 0; i < each; ++i) send(std::as_bytes(std::span(&i, 1)));
  };
  wait_group group;
  group.go([&] {
    const unix_datagram connected = unix_datagram::connect(to.local().host());
    numbers([&](auto bytes) { connected.send(bytes); });
  });
  group.go([&] {
    const unix_datagram bound = unix_datagram::bind(fresh_path());
    numbers([&](auto bytes) { bound.send_to(bytes, to.local()); });
  });
  long sum = 0;
  for (int i = 0; i < 2 * each; ++i) {
    int number = 0;
    ASSERT_EQ(to.receive(std::as_writable_bytes(std::span(&number, 1))), sizeof number);
    sum += number;
  }
  group.wait();
  EXPECT_EQ(sum, long{each} * (each - 1));
}

// G13.
GO_TEST(unix_datagram, deadlines_and_close_end_every_wait_for_room) {
  const unix_datagram to = unix_datagram::bind(fresh_path());
  unix_datagram from = unix_datagram::bind(fresh_path());
  const auto fill = [&] {
    std::error_code error;
    while (!error) from.send_to(bytes_of("x"), to.local(), error);
    return error;
  };
  from.set_write_deadline(std::chrono::steady_clock::now() + 10ms);
  EXPECT_EQ(fill(), std::errc::timed_out);
  from.set_write_deadline(sley::time_point::max());
  wait_group group;
  group.go([&] { EXPECT_EQ(fill(), std::errc::operation_canceled); });
  let_others_run();
  from.close();
  group.wait();
}

GO_TEST(endpoints, are_values) {
  EXPECT_EQ(endpoint("127.0.0.1", 80).to_string(), "127.0.0.1:80");
  EXPECT_EQ(endpoint("::1", 80).to_string(), "[::1]:80");
  EXPECT_EQ(endpoint("::1", 80).port(), 80);
  EXPECT_LT(endpoint("127.0.0.1", 80), endpoint("127.0.0.1", 81));
  EXPECT_LT(endpoint("127.0.0.1", 81), endpoint("127.0.0.2", 80));
  EXPECT_EQ(endpoint().to_string(), "");
  EXPECT_THROW(endpoint("localhost", 80), std::system_error);
  EXPECT_THROW(endpoint("1.2.3", 80), std::system_error);
}
