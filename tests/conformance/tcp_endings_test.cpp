// Deadlines and closing end what waits on TCP streams. The rows of Go's tests stand beside the
// tests.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::eventually;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::read_error;
using sley_test::read_exactly;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

// ---- deadlines ----

// G13.
GO_TEST(tcp, a_deadline_ends_a_read_that_waits) {
  const tcp_pair c = connect_tcp();
  const auto start = now();
  c.server.set_read_deadline(start + 20ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);
  EXPECT_GE(now() - start, 20ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);  // until it is set anew
  c.client.write_all(bytes_of("x"));
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);  // though there is something
  c.server.set_read_deadline(sley::time_point::max());
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

// G7. Never early; and not always late, however busy the machine is, which a tick of the runtime's
// or the kernel's would make them.
GO_TEST(tcp, deadlines_are_not_all_late_by_their_own_length) {
  constexpr auto length = 20ms;
  const tcp_pair c = connect_tcp();
  const auto start = now();
  auto least_late = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 50 || (least_late >= length && now() < start + sley_test::patience); ++i) {
    const auto when = now() + length;
    c.server.set_read_deadline(when);
    EXPECT_EQ(read_error(c.server), std::errc::timed_out);
    const auto late = now() - when;
    EXPECT_GE(late, 0ns);
    least_late = std::min(least_late, late);
  }
  EXPECT_LT(least_late, length);
}

// G13.
GO_TEST(tcp, a_deadline_set_by_another_ends_a_read_that_waits_already) {
  const tcp_pair c = connect_tcp();
  wait_group group;
  for (const auto delay : {-1ms, 0ms, 1ms}) {
    c.server.set_read_deadline(sley::time_point::max());
    group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::timed_out); });
    let_others_run();
    c.server.set_read_deadline(now() + delay);
    group.wait();
  }
}

// G6.
GO_TEST(tcp, a_deadline_of_the_other_direction_ends_nothing) {
  const tcp_pair c = connect_tcp();
  std::atomic<bool> has_read{false};
  wait_group group;
  group.go([&] {
    EXPECT_EQ(read_exactly(c.server, 1), "x");
    has_read = true;
  });
  let_others_run();
  c.server.set_write_deadline(now() - 1s);
  c.server.set_read_deadline(sley::time_point::max());
  let_others_run();
  EXPECT_FALSE(has_read);
  c.client.write_all(bytes_of("x"));
  group.wait();
  std::error_code error;
  c.server.write_some(bytes_of("y"), error);
  EXPECT_EQ(error, std::errc::timed_out);
}

GO_TEST(tcp, a_deadline_ends_a_write_that_waits) {
  const tcp_pair c = connect_tcp();
  c.client.set_write_deadline(now() + 30ms);
  const std::vector<std::byte> much(50'000'000);
  std::error_code error;
  EXPECT_LT(c.client.write_all(much, error), much.size());
  EXPECT_EQ(error, std::errc::timed_out);
}

// G8. A deadline comes through although there always is something to read.
GO_TEST(tcp, deadlines_pass_while_data_comes_all_the_time) {
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] {
    std::error_code error;
    const std::vector<std::byte> block(16'384);
    while (c.client.write_all(block, error) == block.size()) {
    }
  });
  std::vector<std::byte> buffer(65'536);
  for (const std::chrono::nanoseconds timeout :
       {1ns, 100ns, 1'000ns, 100'000ns, 1'000'000ns, 20'000'000ns, 100'000'000ns}) {
    const auto start = now();
    c.server.set_read_deadline(start + timeout);
    std::error_code error;
    while (c.server.read_some(buffer, error) != 0) {
    }
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_GE(now() - start, timeout);
  }
  c.server.close();
  c.client.close();
  group.wait();
}

// G9.
GO_TEST(tcp, deadlines_may_be_set_by_many_at_once) {
  const tcp_pair c = connect_tcp();
  wait_group group;
  for (int g = 0; g < 8; ++g) {
    group.go([&, g] {
      random_source random(static_cast<std::uint64_t>(g));
      for (int i = 0; i < rounds(2'000); ++i) {
        const auto when = now() + std::chrono::microseconds(random.below(200)) - 50us;
        switch (random.below(4)) {
          case 0: c.server.set_read_deadline(when); break;
          case 1: c.server.set_write_deadline(when); break;
          case 2: c.server.set_deadline(when); break;
          default: read_error(c.server); break;
        }
        if (random.below(16) == 0) {
          std::error_code error;
          c.client.write_some(bytes_of("x"), error);
        }
      }
    });
  }
  // This goroutine always ends a read that has found no deadline.
  std::atomic<bool> stop{false};
  sley::go([&] {
    while (!stop) {
      c.server.set_deadline(now());
      sley::this_goroutine::sleep_for(1ms);
    }
    stop = false;
  });
  group.wait();
  stop = true;
  EXPECT_TRUE(eventually([&] { return !stop; }));
}

// ---- closing ----

// G13, G14.
GO_TEST(tcp, close_ends_every_wait) {
  const std::vector<std::byte> much(50'000'000);
  for (int i = 0; i < rounds(200); ++i) {
    tcp_pair c = connect_tcp();
    wait_group group;
    for (int reader = 0; reader < 3; ++reader) {
      group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::operation_canceled); });
    }
    group.go([&] {
      std::error_code error;
      c.server.write_all(much, error);
      EXPECT_EQ(error, std::errc::operation_canceled);
    });
    if (i % 2 == 0) let_others_run();
    c.server.close();
    EXPECT_FALSE(c.server.is_open());
    group.wait();
    EXPECT_EQ(read_error(c.server), std::errc::operation_canceled);
    c.server.close();  // once more does nothing
  }
}

GO_TEST(tcp, a_stream_that_was_never_open_is_an_error) {
  tcp_stream s;
  EXPECT_FALSE(s.is_open());
  EXPECT_EQ(s.native_handle(), -1);
  EXPECT_EQ(read_error(s), std::errc::bad_file_descriptor);
  const auto expect_error = [](auto operation) {
    std::error_code error;
    operation(error);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
  };
  expect_error([&](std::error_code& e) { s.local(e); });
  expect_error([&](std::error_code& e) { s.remote(e); });
  expect_error([&](std::error_code& e) { s.set_no_delay(true, e); });
  expect_error([&](std::error_code& e) { s.set_keep_alive(1s, e); });
  expect_error([&](std::error_code& e) { s.set_linger(1s, e); });
  expect_error([&](std::error_code& e) { s.set_read_buffer(1, e); });
  expect_error([&](std::error_code& e) { s.set_write_buffer(1, e); });
  expect_error([](std::error_code& e) { tcp_listener().local(e); });
  expect_error([](std::error_code& e) { sley::net::udp_socket().local(e); });
  EXPECT_THROW(s.local(), std::system_error);
  EXPECT_THROW(s.set_no_delay(true), std::system_error);
  s.close();
}

// G21. The number of a closed socket is used again at once; events of the old one wake no
// goroutine.
GO_TEST(tcp, a_number_that_is_used_again_is_another_socket) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  wait_group group;
  for (int g = 0; g < 4; ++g) {
    group.go([&, g] {
      for (int i = 0; i < rounds(300); ++i) {
        tcp_stream s = tcp_stream::connect(address);
        const std::string text = std::to_string(g * 1'000'000 + i);
        s.write_all(bytes_of(text));
        if (i % 2 == 0) s.shutdown_write();
        EXPECT_EQ(read_exactly(s, text.size()), text);
      }
    });
    group.go([&] {
      for (int i = 0; i < rounds(300); ++i) {
        group.go([s = listener.accept()] {
          std::array<std::byte, 64> buffer;
          std::error_code error;
          while (const std::size_t n = s.read_some(buffer, error)) {
            s.write_all(std::span(buffer).first(n), error);
          }
        });
      }
    });
  }
  group.wait();
}

// A reader gets the bytes that were sent on this connection and then an end, whenever it is closed.
// The numbers go on to other connections at once.
GO_TEST(tcp, is_closed_while_many_read_and_write) {
  wait_group group;
  for (int g = 0; g < 8; ++g) {
    group.go([g] {
      random_source random(static_cast<std::uint64_t>(g));
      for (int i = 0; i < rounds(150); ++i) {
        const auto mine = static_cast<std::byte>(random.below(256));
        tcp_pair pair = connect_tcp();
        wait_group users;
        for (int reader = 0; reader < 2; ++reader) {
          users.go([&] {
            std::array<std::byte, 300> buffer;
            std::error_code error;
            while (const std::size_t n = pair.client.read_some(buffer, error)) {
              for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(buffer[k], mine);
            }
          });
        }
        users.go([&] {
          const std::vector<std::byte> bytes(100, mine);
          std::error_code error;
          while (!error) {
            pair.server.write_all(bytes, error);
            sley::this_goroutine::yield();
          }
        });
        for (std::uint64_t k = random.below(20); k > 0; --k) sley::this_goroutine::yield();
        (random.one_in(2) ? pair.client : pair.server).close();
        if (random.one_in(2)) sley::this_goroutine::yield();
        pair.client.close();
        pair.server.close();
        users.wait();
      }
    });
  }
  group.wait();
}

// A half-open connection: its peer's machine lost power, say. Reading does not tell.
GO_TEST(tcp, a_peer_that_has_vanished_is_found_out_by_writing) {
  tcp_pair pair = connect_tcp();
  constexpr int on = 1;
  if (::setsockopt(pair.server.native_handle(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) {
    GTEST_SKIP() << "needs CAP_NET_ADMIN";
  }
  pair.server.close();  // without a word to the other side
  pair.client.set_read_deadline(now() + 50ms);
  EXPECT_EQ(read_error(pair.client), std::errc::timed_out);
  pair.client.set_read_deadline(now() + 1h);
  pair.client.write_all(bytes_of("anybody there?"));
  EXPECT_EQ(read_error(pair.client), std::errc::connection_reset);
}
