// UDP sockets and Unix streams: what differs from TCP. The rows of Go's tests stand beside.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>

#include <unistd.h>

using sley::wait_group;
using sley::net::endpoint;
using sley::net::udp_socket;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::bytes_of;
using sley_test::let_others_run;
using sley_test::read_exactly;
using namespace std::chrono_literals;

namespace {

std::string received(std::span<const std::byte> bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

GO_TEST(udp, carries_whole_datagrams_and_tells_from_whom) {
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
GO_TEST(udp, deadlines_and_close_end_those_who_wait) {
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

GO_TEST(unix_stream, carries_bytes_and_removes_its_file) {
  const std::string path = "/tmp/sley_unix_" + std::to_string(::getpid());
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
