// Sockets and pipes: every byte comes back, a goroutine that waits for a descriptor wakes when it
// is closed, and deadlines end waits and nothing else.
#include "soak/soak.hpp"
#include "support/connections.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

using sley::wait_group;
using sley::net::endpoint;
using sley::net::stream;
using sley::net::tcp_listener;
using sley::net::tcp_stream;
using sley::net::udp_socket;
using sley::net::unix_listener;
using sley::net::unix_stream;
using sley_test::bytes_of;
using sley_test::random_source;
using sley_test::rounds;
using soak::count;
using soak::tally;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

// --- echoes --------------------------------------------------------------------------------------

std::size_t any_size(random_source& random) {
  switch (random.below(20)) {
    case 0: return 1 + random.below(500'000);  // more than sockets hold
    case 1: return 1;
    default: return 1 + random.below(5000);
  }
}

void exchange_some(const stream& s, random_source& random) {
  std::uint64_t bytes = 0;
  for (auto messages = 1 + random.below(20); messages > 0; --messages) {
    const std::size_t size = any_size(random);
    sley_test::exchange(s, random, size);
    bytes += size;
  }
  s.shutdown_write();
  EXPECT_EQ(sley_test::read_to_end(s), "");
  count(tally::connections);
  count(tally::stream_bytes, bytes);
}

// As many servers as clients, each for the connection that it happens to get.
template <class Listener, class Connect>
void echo_through(random_source& random, const Listener& listener, Connect connect) {
  wait_group group;
  for (auto clients = 1 + random.below(12); clients > 0; --clients) {
    group.go([&] { sley_test::echo(listener.accept()); });
    group.go([&, own = random_source(random())]() mutable {
      const auto s = connect(listener, own);
      exchange_some(s, own);
    });
  }
  group.wait();
}

tcp_stream connect_tcp(const tcp_listener& listener, random_source& random) {
  tcp_stream s = tcp_stream::connect(listener.local().to_string());
  s.set_no_delay(random.one_in(2));
  if (random.one_in(4)) s.set_write_buffer(16 << 10);
  return s;
}

void echo_by_tcp(random_source& random) {
  echo_through(random, tcp_listener::listen("127.0.0.1:0"), connect_tcp);
}

void echo_by_unix(random_source& random) {
  static std::atomic<int> last{0};
  const std::string path =
      std::filesystem::temp_directory_path() /
      ("sley_soak." + std::to_string(::getpid()) + "." + std::to_string(++last));
  echo_through(random, unix_listener::listen(path), [&path](const unix_listener&, random_source&) {
    return unix_stream::connect(path);
  });
}

// A hundred at most, so that none is dropped for want of room.
void answer_datagrams(random_source& random) {
  auto server = udp_socket::bind("127.0.0.1:0");
  const auto clients = 1 + random.below(20);
  const int each = rounds(100);
  wait_group serving, group;
  serving.go([&] {
    std::array<std::byte, 1500> buffer;
    std::error_code error;
    for (endpoint from;;) {
      const std::size_t n = server.receive_from(buffer, from, error);
      if (error) break;
      server.send_to(std::span(buffer).first(n), from);
    }
    EXPECT_EQ(error, std::errc::operation_canceled);
  });
  for (std::uint64_t i = 0; i < clients; ++i) {
    group.go([&, own = random_source(random())]() mutable {
      const auto s = udp_socket::bind("127.0.0.1:0");
      std::array<std::byte, 1500> sent, got;
      for (int k = 0; k < each; ++k) {
        const std::size_t size = 8 + own.below(1400);
        for (std::byte& b : sent) b = static_cast<std::byte>(own());
        s.send_to(std::span(sent).first(size), server.local());
        endpoint from;
        EXPECT_EQ(s.receive_from(got, from), size);
        EXPECT_EQ(from, server.local());
        EXPECT_EQ(std::memcmp(sent.data(), got.data(), size), 0);
      }
    });
  }
  group.wait();
  server.close();
  serving.wait();
  count(tally::datagrams, clients * static_cast<std::uint64_t>(each));
}

// --- waits that end otherwise --------------------------------------------------------------------

// Goroutines that read, write and accept while the object is closed wake, and hear why.
void close_under_waiters(random_source& random) {
  auto listener = tcp_listener::listen("127.0.0.1:0");
  auto [near, far] = unix_stream::pair();
  const auto waiters = 1 + random.below(20);
  std::atomic<std::uint64_t> woken{0};
  wait_group group;
  for (std::uint64_t i = 0; i < waiters; ++i) {
    group.go([&, kind = random.below(3)] {
      std::error_code error;
      std::array<std::byte, 4096> buffer{};
      switch (kind) {
        case 0: (void)listener.accept(error); break;
        case 1: (void)near.read_some(buffer, error); break;
        default:
          while (!error) (void)near.write_some(buffer, error);
      }
      EXPECT_EQ(error, std::errc::operation_canceled);
      ++woken;
    });
  }
  sley::this_goroutine::sleep_for(random.below(2000) * 1us);
  listener.close();
  near.close();
  group.wait();
  EXPECT_EQ(woken, waiters);
  count(tally::waits, waiters);
}

// Deadlines pass while a goroutine reads, again and again; then the bytes come all the same.
void pass_deadlines(random_source& random) {
  const auto [near, far] = unix_stream::pair();
  const int times = rounds(20);
  for (int i = 0; i < times; ++i) {
    near.set_read_deadline(steady_clock::now() + random.below(500) * 1us);
    EXPECT_EQ(sley_test::read_error(near), std::errc::timed_out);
  }
  near.set_read_deadline(sley::time_point::max());
  wait_group group;
  group.go([peer = &far, d = random.below(500) * 1us] {
    sley::this_goroutine::sleep_for(d);
    peer->write_all(bytes_of("here"));
  });
  EXPECT_EQ(sley_test::read_exactly(near, 4), "here");
  group.wait();
  count(tally::timers, static_cast<std::uint64_t>(times));
}

// The peer goes away in the middle, in one way or the other.
void lose_the_peer(random_source& random) {
  wait_group group;
  for (auto pairs = 1 + random.below(10); pairs > 0; --pairs) {
    group.go([own = random_source(random())]() mutable {
      auto pair = sley_test::connect_tcp();
      wait_group reading;
      reading.go([&] {
        std::error_code error;
        std::array<std::byte, 4096> buffer{};
        while (!error && pair.server.read_some(buffer, error) != 0) {
        }
        EXPECT_TRUE(!error || error == std::errc::connection_reset) << error.message();
      });
      const std::vector<std::byte> some(own.below(100'000));
      pair.client.write_all(some);
      if (!own.one_in(8)) pair.client.set_linger(0s);  // else it occupies its port for a minute
      pair.client.close();
      reading.wait();
      count(tally::connections);
    });
  }
  group.wait();
}

// --- pipes ---------------------------------------------------------------------------------------

void pour_through_pipes(random_source& random) {
  wait_group group;
  std::atomic<std::uint64_t> poured{0};
  for (auto pipes = 1 + random.below(6); pipes > 0; --pipes) {
    group.go([&poured, own = random_source(random())]() mutable {
      auto ends = sley::os::pipe();
      std::vector<std::byte> sent(1 + own.below(300'000));
      for (std::byte& b : sent) b = static_cast<std::byte>(own());
      wait_group writing;
      writing.go([&] {
        ends.writer.write_all(sent);
        ends.writer.close();
      });
      std::vector<std::byte> got, buffer(1 + own.below(70'000));
      while (const std::size_t n = ends.reader.read_some(buffer)) {
        got.insert(got.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n));
      }
      writing.wait();
      EXPECT_TRUE(got == sent) << got.size() << " of " << sent.size() << " bytes";
      poured += sent.size();
    });
  }
  group.wait();
  count(tally::stream_bytes, poured);
}

}  // namespace

SOAK_LAP(net_tcp) { echo_by_tcp(random); }
SOAK_LAP(net_unix) { echo_by_unix(random); }
SOAK_LAP(net_datagrams) { answer_datagrams(random); }
SOAK_LAP(net_close) { close_under_waiters(random); }
SOAK_LAP(net_deadlines) { pass_deadlines(random); }
SOAK_LAP(net_lost_peer) { lose_the_peer(random); }
SOAK_LAP(net_pipes) { pour_through_pipes(random); }
