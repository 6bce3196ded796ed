// SPEC.md, "I/O".
#include "rows.hpp"

#include <sley/net.hpp>
#include <sley/os.hpp>
#include <sley/sley.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace bench {

namespace {

using sley::net::tcp_listener;
using sley::net::tcp_stream;
using message = std::array<std::byte, 64>;

void echo(const tcp_stream& s) {
  message m;
  std::error_code error;
  while (s.read_exactly(m, error) == m.size()) {
    if (s.write_all(m, error) != m.size()) return;
  }
}

void serve_echoes(const tcp_listener& l) {
  std::error_code error;
  for (;;) {
    tcp_stream s = l.accept(error);
    if (error) return;
    sley::go([s = std::move(s)] { echo(s); });
  }
}

void ask(const tcp_stream& s, std::uint8_t who, std::span<nanoseconds> latencies) {
  message out{}, in;
  clock::time_point before = clock::now();
  std::uint8_t k = 0;
  for (nanoseconds& latency : latencies) {
    out.front() = std::byte{k++};
    out.back() = std::byte{who};
    s.write_all(out);
    s.read_exactly(in);
    check(in.front() == out.front() && in.back() == out.back(), "echo");
    const clock::time_point now = clock::now();
    latency = now - before;
    before = now;
  }
}

outcome tcp_echo(int n, int connections, int idle) {
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  sley::wait_group others;
  others.go([&] { serve_echoes(listener); });
  std::vector<tcp_stream> held;
  held.reserve(static_cast<std::size_t>(idle));
  for (int i = 0; i < idle; ++i) {
    const tcp_stream& s = held.emplace_back(tcp_stream::connect(address));
    others.go([&s] {
      std::error_code error;
      std::array<std::byte, 1> byte;
      s.read_some(byte, error);  // until the close below
    });
  }
  std::vector<tcp_stream> active;
  for (int i = 0; i < connections; ++i) active.push_back(tcp_stream::connect(address));
  if (idle > 0) sley::this_goroutine::sleep_for(std::chrono::milliseconds(200));
  const auto each = static_cast<std::size_t>(std::max(1, n / connections));
  std::vector<nanoseconds> latencies(each * active.size());
  outcome o = timed(static_cast<std::int64_t>(latencies.size()), [&] {
    sley::wait_group group;
    for (std::size_t i = 0; i < active.size(); ++i) {
      group.go([&, i] {
        ask(active[i], static_cast<std::uint8_t>(i), std::span(latencies).subspan(i * each, each));
      });
    }
    group.wait();
  });
  for (tcp_stream& s : active) s.close();
  for (tcp_stream& s : held) s.close();
  listener.close();
  others.wait();
  o.add("conns=%d idle=%d ops_per_s=%.0f", connections, idle,
        static_cast<double>(o.ops) * 1e9 / static_cast<double>(o.wall.count()));
  o.add_latencies("", latencies);
  return o;
}

outcome tcp_accept(int n) {
  constexpr std::size_t batch = 64;
  const int rounds = std::max(1, n / static_cast<int>(batch));
  tcp_listener listener = tcp_listener::listen("127.0.0.1:0");
  const std::string address = listener.local().to_string();
  return timed(rounds * std::int64_t{batch}, [&] {
    std::vector<tcp_stream> ends;
    ends.reserve(2 * batch);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < batch; ++i) ends.push_back(tcp_stream::connect(address));
      for (std::size_t i = 0; i < batch; ++i) ends.push_back(listener.accept());
      ends.clear();
    }
  });
}

using sley::os::file;

outcome pipe_pingpong(int n) {
  const sley::os::pipe_ends there = sley::os::pipe(), back = sley::os::pipe();
  sley::wait_group group;
  group.go([&] {
    std::array<std::byte, 1> byte;
    for (int i = 0; i < n; ++i) {
      there.reader.read_some(byte);
      byte[0] = std::byte(std::to_integer<int>(byte[0]) + 1);
      back.writer.write_all(byte);
    }
  });
  outcome o = timed(n, [&] {
    std::array<std::byte, 1> byte{};
    for (int i = 0; i < n; ++i) {
      there.writer.write_all(byte);
      back.reader.read_some(byte);
      check(std::to_integer<int>(byte[0]) == (i + 1) % 256, "byte");
    }
  });
  group.wait();
  return o;
}

void read_pages(const file& f, std::uint64_t seed, int count) {
  std::array<std::byte, page_bytes> page;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t p = splitmix(seed + static_cast<std::uint64_t>(i)) % page_count;
    check(f.read_at(page, p * page_bytes) == page_bytes && page[0] == std::byte(p % 256), "page");
  }
}

outcome file_read_4k(int n) {
  const file f(make_pages());
  outcome o = timed(n, [&] { read_pages(f, 1, n); });
  constexpr int readers = 8;
  const int each = std::max(1, n / readers);
  const outcome together = timed(readers * each, [&] {
    sley::wait_group group;
    for (std::uint64_t r = 0; r < readers; ++r) {
      group.go([&, r] { read_pages(f, r << 32, each); });
    }
    group.wait();
  });
  o.add("par8_ns=%.2f", ns_each(together.wall, together.ops));
  return o;
}

constexpr workload rows[] = {
    {"tcp_echo", 400'000, 20'000, [](int n) { return tcp_echo(n, 64, 0); }},
    {"tcp_echo_c1", 100'000, 5'000, [](int n) { return tcp_echo(n, 1, 0); }},
    {"tcp_echo_c1000", 400'000, 20'000, [](int n) { return tcp_echo(n, 1000, 0); }},
    {"tcp_accept", 50'000, 1'000, tcp_accept},
    {"tcp_idle10k", 400'000, 0, [](int n) { return tcp_echo(n, 64, 5000); }},
    {"file_read_4k", 1'000'000, 50'000, file_read_4k},
    {"pipe_pingpong", 200'000, 10'000, pipe_pingpong},
};

}  // namespace

std::span<const workload> io_rows() { return rows; }

}  // namespace bench
