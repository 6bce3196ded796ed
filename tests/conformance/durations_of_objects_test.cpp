// Aim and method as in durations_test.cpp. Here: deadlines of streams, pipes, listeners and
// processes, and options of sockets.
#include "support/connections.hpp"
#include "support/durations.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using sley::time_point;
using sley_test::connect_tcp;
using sley_test::expect_for_ever;
using sley_test::with_each_steady_time_that_is_past;
using sley_test::with_each_steady_time_that_never_comes;
using sley_test::with_each_that_is_over;
using sley_test::with_each_that_never_ends;
using namespace std::chrono_literals;
using std::chrono::hours;

namespace {

template <class Reader, class Writer>
void expect_deadlines(const Reader& reader, const Writer& writer) {
  std::array<std::byte, 1> byte{};
  with_each_steady_time_that_never_comes([&](auto t) {
    reader.set_deadline(t);
    writer.set_deadline(t);
    reader.set_read_deadline(t);
    writer.set_write_deadline(t);
    expect_for_ever([&] { EXPECT_EQ(reader.read_some(byte), 1U); },
                    [&] { writer.write_all(sley_test::bytes_of("x")); });
  });
  with_each_steady_time_that_is_past([&](auto t) {
    std::error_code error;
    reader.set_deadline(time_point::max());
    reader.set_read_deadline(t);
    EXPECT_EQ(reader.read_some(byte, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
    writer.set_deadline(time_point::max());
    writer.set_write_deadline(t);
    EXPECT_EQ(writer.write_all(byte, error), 0U);
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

}  // namespace

GO_TEST(durations, streams_and_pipes_have_any_deadline) {
  const auto c = connect_tcp();
  expect_deadlines(c.server, c.client);
  const sley::os::pipe_ends p = sley::os::pipe();
  expect_deadlines(p.reader, p.writer);
}

GO_TEST(durations, listeners_have_any_deadline) {
  const auto listener = sley::net::tcp_listener::listen("127.0.0.1:0");
  with_each_steady_time_that_never_comes([&](auto t) {
    listener.set_deadline(t);
    expect_for_ever([&] { EXPECT_TRUE(listener.accept().is_open()); },
                    [&] { sley::net::tcp_stream::connect(listener.local().to_string()); });
  });
  with_each_steady_time_that_is_past([&](auto t) {
    listener.set_deadline(t);
    std::error_code error;
    listener.accept(error);
    EXPECT_EQ(error, std::errc::timed_out);
  });
}

GO_TEST(durations, a_process_is_waited_for_until_any_time) {
  with_each_steady_time_that_is_past([](auto t) {
    const auto cat = sley::os::process::start({.program = "cat",
                                               .input = sley::os::redirect::pipe(),
                                               .output = sley::os::redirect::null()});
    std::error_code error;
    EXPECT_EQ(cat.wait(t, error).to_string(), "not ended");
    EXPECT_EQ(error, std::errc::timed_out);
    cat.kill(SIGKILL);
    EXPECT_EQ(cat.wait().signal(), SIGKILL);
  });
  with_each_steady_time_that_never_comes([](auto t) {
    auto cat = sley::os::process::start({.program = "cat",
                                         .input = sley::os::redirect::pipe(),
                                         .output = sley::os::redirect::null()});
    expect_for_ever(
        [&] {
          std::error_code error;
          EXPECT_TRUE(cat.wait(t, error).success());
        },
        [&] { cat.stdin_pipe().close(); });
  });
}

// ---- options of sockets ----

namespace {

template <class Value>
Value option_of(const sley::net::tcp_stream& s, int level, int name) {
  Value value{};
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(s.native_handle(), level, name, &value, &size), 0);
  return value;
}

}  // namespace

GO_TEST(durations, keep_alive_takes_any) {
  const auto c = connect_tcp();
  const auto is_on = [&] { return option_of<int>(c.client, SOL_SOCKET, SO_KEEPALIVE) != 0; };
  const auto off = [&](auto d) {
    c.client.set_keep_alive(20s);
    EXPECT_TRUE(is_on());
    c.client.set_keep_alive(d);
    EXPECT_FALSE(is_on());
  };
  with_each_that_never_ends(off);
  with_each_that_is_over(off);
  c.client.set_keep_alive(1500ms);
  EXPECT_EQ(option_of<int>(c.client, IPPROTO_TCP, TCP_KEEPIDLE), 2);
  std::error_code error;
  c.client.set_keep_alive(hours(1'000'000), error);
  EXPECT_EQ(error, std::errc::invalid_argument);
}

GO_TEST(durations, linger_takes_any) {
  const auto c = connect_tcp();
  const auto get = [&] { return option_of<linger>(c.client, SOL_SOCKET, SO_LINGER); };
  with_each_that_never_ends([&](auto d) {
    c.client.set_linger(0s);
    EXPECT_EQ(get().l_onoff, 1);
    c.client.set_linger(d);
    EXPECT_EQ(get().l_onoff, 0);
  });
  c.client.set_linger(500ms);
  EXPECT_EQ(get().l_onoff, 1);
  EXPECT_EQ(get().l_linger, 1) << "0 would reset the connection";
  c.client.set_linger(hours::min());
  EXPECT_EQ(get().l_onoff, 0);
}
