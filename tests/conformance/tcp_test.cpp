// TCP streams and listeners. The rows of Go's tests that are met here stand beside the tests.
#include "support/connections.hpp"
#include "support/harness.hpp"

#include <sley/net.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

using sley::wait_group;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley_test::bytes_of;
using sley_test::connect_tcp;
using sley_test::eventually;
using sley_test::let_others_run;
using sley_test::random_source;
using sley_test::read_exactly;
using sley_test::read_to_end;
using sley_test::rounds;
using sley_test::tcp_pair;
using namespace std::chrono_literals;

namespace {

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

std::error_code read_error(const sley::net::stream& s) {
  std::error_code error;
  std::array<std::byte, 1> byte;
  s.read_some(byte, error);
  return error;
}

// The peer resets the connection when it is closed.
void reset_on_close(const tcp_stream& s) {
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(::setsockopt(s.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
}

}  // namespace

GO_TEST(tcp, carries_bytes_both_ways) {
  const tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.server, 5), "hello");
  c.server.write_all(bytes_of("world"));
  EXPECT_EQ(read_exactly(c.client, 5), "world");
  EXPECT_EQ(c.client.remote(), c.server.local());
  EXPECT_EQ(c.client.local(), c.server.remote());
}

// G20.
GO_TEST(tcp, reads_the_end_of_the_stream_after_what_was_written) {
  tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("last words"));
  c.client.close();
  EXPECT_EQ(read_to_end(c.server), "last words");
  EXPECT_EQ(read_to_end(c.server), "");  // as often as one likes
}

// G20.
GO_TEST(tcp, a_read_without_room_is_not_the_end) {
  const tcp_pair c = connect_tcp();
  EXPECT_EQ(c.server.read_some({}), 0U);
  c.client.write_all(bytes_of("x"));
  EXPECT_EQ(c.server.read_some({}), 0U);
  EXPECT_EQ(read_exactly(c.server, 1), "x");
}

GO_TEST(tcp, half_closes) {
  const tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("question"));
  c.client.shutdown_write();
  EXPECT_EQ(read_to_end(c.server), "question");
  c.server.write_all(bytes_of("answer"));
  EXPECT_EQ(read_exactly(c.client, 6), "answer");
  std::error_code error;
  c.client.write_all(bytes_of("x"), error);
  EXPECT_EQ(error, std::errc::broken_pipe);
}

GO_TEST(tcp, read_exactly_tells_a_stream_that_ends_too_soon) {
  tcp_pair c = connect_tcp();
  c.client.write_all(bytes_of("abc"));
  c.client.close();
  std::array<std::byte, 5> buffer;
  std::error_code error;
  EXPECT_EQ(c.server.read_exactly(buffer, error), 3U);
  EXPECT_EQ(error, std::errc::connection_aborted);
  EXPECT_THROW(c.server.read_exactly(buffer), std::system_error);
}

// The data and the end come before the reader looks for the first time, and at every other moment.
GO_TEST(tcp, never_misses_the_end_behind_the_data) {
  for (int i = 0; i < rounds(300); ++i) {
    tcp_pair c = connect_tcp();
    wait_group group;
    group.go([&] { EXPECT_EQ(read_to_end(c.server), "some bytes"); });
    if (i % 3 != 0) sley::this_goroutine::yield();
    c.client.write_all(bytes_of("some "));
    if (i % 2 == 0) sley::this_goroutine::yield();
    c.client.write_all(bytes_of("bytes"));
    if (i % 5 == 0) sley::this_goroutine::yield();
    c.client.close();
    group.wait();
  }
}

GO_TEST(tcp, a_reset_is_an_error_for_who_reads) {
  tcp_pair c = connect_tcp();
  wait_group group;
  group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::connection_reset); });
  let_others_run();
  reset_on_close(c.client);
  c.client.close();
  group.wait();
}

// G16. Writing to who has gone is an error, not a signal.
GO_TEST(tcp, writing_to_who_has_gone_is_an_error) {
  tcp_pair c = connect_tcp();
  c.server.close();
  std::error_code error;
  EXPECT_TRUE(eventually([&] {
    c.client.write_all(bytes_of("x"), error);
    return bool(error);
  }));
  EXPECT_TRUE(error == std::errc::broken_pipe || error == std::errc::connection_reset) << error;
}

// More than all buffers hold: the writer waits, and nothing is lost.
GO_TEST(tcp, a_writer_waits_for_a_slow_reader) {
  const tcp_pair c = connect_tcp();
  constexpr std::size_t size = 20'000'000;
  std::vector<std::byte> sent(size);
  random_source random;
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&sent[i], &word, 8);
  }
  wait_group group;
  group.go([&] { c.client.write_all(sent); });
  std::vector<std::byte> got(size);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t room = std::min<std::size_t>(1 + random.below(100'000), size - done);
    done += c.server.read_some(std::span(got).subspan(done, room));
    if (random.below(50) == 0) sley::this_goroutine::sleep_for(1ms);
  }
  group.wait();
  EXPECT_TRUE(sent == got);
}

GO_TEST(tcp, gathers_and_scatters) {
  const tcp_pair c = connect_tcp();
  std::vector<std::string> parts;
  std::string whole;
  std::vector<iovec> buffers;
  for (std::size_t i = 0; i < 2000; ++i) parts.emplace_back(i % 7, static_cast<char>('a' + i % 26));
  for (std::string& part : parts) {
    whole += part;
    buffers.push_back({part.data(), part.size()});
  }
  std::error_code error;
  EXPECT_EQ(c.client.write_all(buffers, error), whole.size());
  EXPECT_FALSE(error);
  EXPECT_EQ(read_exactly(c.server, whole.size()), whole);

  c.client.write_all(bytes_of("headbody"));
  char head[4], body[4];
  const iovec places[] = {{head, sizeof head}, {body, sizeof body}};
  EXPECT_EQ(c.server.read_some(places, error), 8U);
  EXPECT_EQ(std::string(head, 4) + std::string(body, 4), "headbody");
}

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
  // Somebody always ends a read that has found no deadline.
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
GO_TEST(tcp, close_ends_those_who_wait) {
  for (int i = 0; i < rounds(200); ++i) {
    tcp_pair c = connect_tcp();
    wait_group group;
    for (int reader = 0; reader < 3; ++reader) {
      group.go([&] { EXPECT_EQ(read_error(c.server), std::errc::operation_canceled); });
    }
    group.go([&] {
      const std::vector<std::byte> much(50'000'000);
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

GO_TEST(tcp, what_was_never_open_says_so) {
  tcp_stream s;
  EXPECT_FALSE(s.is_open());
  EXPECT_EQ(s.native_handle(), -1);
  EXPECT_EQ(read_error(s), std::errc::bad_file_descriptor);
  s.close();
}

// G21. The number of a closed socket is used again at once; events of the old one wake nobody.
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
    reset_on_close(gone);
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

// Descriptors run out, and come back.
GO_TEST(tcp, accept_survives_a_shortage_of_descriptors) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const tcp_stream client = tcp_stream::connect(listener.local().to_string());
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(client.native_handle());
  ::close(next);
  const rlimit none_left = {static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
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

GO_TEST(tcp, names_what_it_could_not_connect_to) {
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  listener.close();
  try {
    tcp_stream::connect(address);
    FAIL() << "nobody listens there";
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

// G17. A full queue of a listener that nobody serves makes further ones wait.
GO_TEST(tcp, connect_has_a_deadline) {
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0", {.backlog = 0});
  const std::string address = listener.local().to_string();
  std::vector<tcp_stream> in_line;
  std::error_code error;
  const auto start = now();
  while (!error && in_line.size() < 100) {
    in_line.push_back(tcp_stream::connect(address, now() + 50ms, error));
  }
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_LT(now() - start, 20s);
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

// ---- many ----

GO_TEST(tcp, echoes_to_many) {
  constexpr int clients = 64;
  const tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  wait_group group;
  group.go([&] {
    for (int i = 0; i < clients; ++i) {
      group.go([s = listener.accept()] {
        std::array<std::byte, 4096> buffer;
        while (const std::size_t n = s.read_some(buffer)) s.write_all(std::span(buffer).first(n));
      });
    }
  });
  for (int i = 0; i < clients; ++i) {
    group.go([&, i] {
      const tcp_stream s = tcp_stream::connect(listener.local().to_string());
      random_source random(static_cast<std::uint64_t>(i));
      for (int r = 0; r < rounds(200); ++r) {
        const std::string text(1 + random.below(300), static_cast<char>('a' + r % 26));
        s.write_all(bytes_of(text));
        ASSERT_EQ(read_exactly(s, text.size()), text);
      }
    });
  }
  group.wait();
}

// G11. Several readers and writers of one socket: each byte goes to one of them, whole writes stay
// together.
GO_TEST(tcp, many_share_one_socket) {
  tcp_pair c = connect_tcp();
  constexpr int writers = 5, block = 100;
  const int each = rounds(500);
  wait_group writing, reading;
  for (int w = 0; w < writers; ++w) {
    writing.go([&, w] {
      const std::string text(block, static_cast<char>('a' + w));
      for (int i = 0; i < each; ++i) c.client.write_all(bytes_of(text));
    });
  }
  std::mutex lock;
  std::array<std::size_t, writers> counts{};
  for (int r = 0; r < 5; ++r) {
    reading.go([&] {
      std::array<char, 37> buffer;
      while (const std::size_t n = c.server.read_some(std::as_writable_bytes(std::span(buffer)))) {
        std::lock_guard guard(lock);
        for (std::size_t i = 0; i < n; ++i) ++counts.at(static_cast<std::size_t>(buffer[i] - 'a'));
      }
    });
  }
  writing.wait();
  c.client.shutdown_write();
  reading.wait();
  for (const std::size_t count : counts)
    EXPECT_EQ(count, std::size_t{block} * static_cast<std::size_t>(each));
}

// ---- foreign threads ----

FOREIGN_TEST(tcp, threads_of_the_users_wait_as_threads) {
  const tcp_pair c = connect_tcp();
  std::thread other([&] {
    EXPECT_EQ(read_exactly(c.server, 5), "hello");
    c.server.write_all(bytes_of("world"));
  });
  std::this_thread::sleep_for(5ms);
  c.client.write_all(bytes_of("hello"));
  EXPECT_EQ(read_exactly(c.client, 5), "world");
  other.join();
  c.server.set_read_deadline(now() + 5ms);
  EXPECT_EQ(read_error(c.server), std::errc::timed_out);
}
