// Aim: a text with a zero byte inside goes to no function that takes C strings, because such a
// function would take what is before that byte for the whole. Method: names whose first part alone
// would be taken. Each must be refused as an invalid argument, by both forms of each function, and
// the message must show the text with the byte's place.
#include "support/harness.hpp"

#include <sley/debug.hpp>
#include <sley/net.hpp>
#include <sley/os.hpp>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using sley::context;
using sley::net::endpoint;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::udp_socket;
using sley::net::unix_datagram;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley::os::file;
using namespace std::string_literals;

namespace {

// Calls f(error) and expects that it refuses.
template <class F>
void expect_error(F f) {
  std::error_code error;
  static_cast<void>(f(error));
  EXPECT_EQ(error, std::errc::invalid_argument) << error.message();
}

// Calls f() and expects that it throws what shows the text.
template <class F>
void expect_thrown(std::string_view shown, F f) {
  try {
    static_cast<void>(f());
    ADD_FAILURE() << "not refused: " << shown;
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), std::errc::invalid_argument) << e.what();
    EXPECT_NE(std::string_view(e.what()).find(shown), std::string_view::npos) << e.what();
  }
}

}  // namespace

GO_TEST(zero_bytes, paths_of_files_are_refused) {
  const std::string path = "/etc/passwd\0.txt"s;
  expect_error([&](std::error_code& e) { return file::open(path, O_RDONLY, e); });
  expect_thrown(R"("/etc/passwd\0.txt" with a zero byte at position 11)",
                [&] { return file::open(path, O_RDONLY); });
  expect_error([](std::error_code& e) { return file::open("\0"s, O_RDONLY, e); });
  expect_error([](std::error_code& e) { return file::open("/etc/passwd\0"s, O_RDONLY, e); });
}

GO_TEST(zero_bytes, a_path_that_is_refused_makes_no_file) {
  const std::string made = "/tmp/sley_zero_" + std::to_string(::getpid());
  expect_error([&](std::error_code& e) {
    return file::open(made + "\0.txt"s, O_CREAT | O_WRONLY, 0600, e);
  });
  EXPECT_NE(::access(made.c_str(), F_OK), 0);
}

GO_TEST(zero_bytes, names_of_hosts_are_refused) {
  const auto listener = tcp_listener::listen("127.0.0.1:0");
  const std::string port = std::to_string(listener.local().port());
  const std::vector<std::string> names = {"127.0.0.1\0.evil.example:"s + port,
                                          "localhost\0.evil:"s + port, "[::1\0]:"s + port,
                                          "127.0.0.1:"s + port + "\0"s, "127.0.0.1:http\0x"s};
  for (const std::string& name : names) {
    expect_error([&](std::error_code& e) { return tcp_stream::connect(name, e); });
    expect_error([&](std::error_code& e) { return tcp_listener::listen(name, {}, e); });
    expect_error([&](std::error_code& e) { return udp_socket::bind(name, e); });
    expect_error([&](std::error_code& e) { return udp_socket::connect(name, e); });
  }
  const std::string shown = R"("127.0.0.1\0.evil.example:)" + port + "\" with a zero byte";
  expect_thrown(shown, [&] { return tcp_stream::connect(names.front()); });
  expect_thrown(shown, [&] { return tcp_listener::listen(names.front()); });
  expect_thrown(shown, [&] { return udp_socket::connect(names.front()); });
}

GO_TEST(zero_bytes, names_that_are_looked_up_are_refused) {
  for (const std::string& name : {"localhost\0evil"s, "127.0.0.1\0"s, "::1\0x"s, "\0"s}) {
    expect_error([&](std::error_code& e) { return sley::net::lookup(name, e); });
  }
  expect_thrown(R"("localhost\0evil")", [] { return sley::net::lookup("localhost\0evil"s); });
}

GO_TEST(zero_bytes, literal_addresses_are_refused) {
  expect_thrown(R"("127.0.0.1\0x")", [] { return endpoint("127.0.0.1\0x"s, 80); });
  expect_thrown(R"("fe80::1%lo\0x")", [] { return endpoint("fe80::1%lo\0x"s, 80); });
}

GO_TEST(zero_bytes, paths_of_unix_sockets_are_refused) {
  const std::string path = "/tmp/sley_zero_" + std::to_string(::getpid());
  const auto listener = unix_listener::listen(path);
  const std::string longer = path + "\0x"s;
  expect_error([&](std::error_code& e) { return unix_stream::connect(longer, e); });
  expect_error([&](std::error_code& e) { return unix_listener::listen(longer, {}, e); });
  expect_error([&](std::error_code& e) { return unix_datagram::bind(longer, e); });
  expect_error([&](std::error_code& e) { return unix_datagram::connect(longer, e); });
  expect_error([&](std::error_code& e) { return unix_stream::connect("\0abstract"s, e); });
  expect_thrown("\\0x\" with a zero byte", [&] { return endpoint::unix_path(longer); });
  expect_thrown("\\0x\" with a zero byte", [&] { return unix_stream::connect(longer); });
}

// An abstract name has a length: every byte of it counts.
GO_TEST(zero_bytes, abstract_names_may_have_them) {
  const std::string name = "@sley_zero_" + std::to_string(::getpid()) + "\0a"s;
  const auto listener = unix_listener::listen(name);
  EXPECT_EQ(listener.local().host(), name);
  std::error_code error;
  static_cast<void>(unix_stream::connect(name.substr(0, name.size() - 2), error));
  EXPECT_EQ(error, std::errc::connection_refused);
  static_cast<void>(unix_stream::connect(name));
}

GO_TEST(zero_bytes, the_path_of_a_trace_is_refused) {
  const std::string made = "/tmp/sley_zero_trace_" + std::to_string(::getpid());
  expect_thrown("\\0x\" with a zero byte", [&] {
    sley::debug::trace::start(made + "\0x"s);
    return 0;
  });
  EXPECT_NE(::access(made.c_str(), F_OK), 0);
}
