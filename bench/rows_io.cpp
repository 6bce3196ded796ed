// SPEC.md, "I/O".
#include "rows.hpp"

#include <sley/net.hpp>
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

constexpr workload rows[] = {
    {"tcp_echo", 400'000, 20'000, [](int n) { return tcp_echo(n, 64, 0); }},
    {"tcp_echo_c1", 100'000, 5'000, [](int n) { return tcp_echo(n, 1, 0); }},
    {"tcp_idle10k", 400'000, 0, [](int n) { return tcp_echo(n, 64, 5000); }},
};

}  // namespace

std::span<const workload> io_rows() { return rows; }

}  // namespace bench
