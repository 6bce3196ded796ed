// What the peers epoll and io_uring share: the rows of SPEC.md, "I/O", in one thread with nothing
// between the program and the kernel. A peer is a class Io, made for a file or for the ends of
// connections, with
//   wait_for_messages(handle)           until handle(end, message) has returned false
//   send(end, message)                  all of it, before the next wait or in it
//   accept(listener, sockets)           as many connections as there is room for
//   read_pages(numbers, handle)         handle(number, page) for each
#pragma once

#include "peer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

using message = std::array<std::byte, 64>;

// One end of a connection.
struct end {
  int fd = -1;
  bool is_client = false;
  std::uint8_t number = 0;
  std::uint8_t round = 0;
  clock::time_point before{};
  std::span<nanoseconds> latencies{};  // of the round trips that a client has yet to make
  message out{};                       // what was sent last
};

// Owns sockets and files, and closes them.
class descriptors {
 public:
  descriptors() = default;
  descriptors(const descriptors&) = delete;
  ~descriptors();
  int add(int fd, const char* what);  // checks that the fd is one

 private:
  std::vector<int> all_;
};

int listen_on_loopback(descriptors& owner);
// A socket that is connected with the listener; its other end waits to be accepted.
int connect_with(int listener);
// Two for each connection, the client's first, with TCP_NODELAY.
std::vector<end> make_ends(descriptors& owner, int connections);
void close_all(std::span<const int> sockets);

// Takes the answer to a client's message. False if it was the last one.
bool take_answer(end& client, const message& m);
message question(const end& client);

template <class Io>
outcome tcp_echo(int n, int connections) {
  descriptors owner;
  std::vector<end> ends = make_ends(owner, connections);
  const auto each = static_cast<std::size_t>(std::max(1, n / connections));
  std::vector<nanoseconds> latencies(each * static_cast<std::size_t>(connections));
  Io io(ends);
  outcome o = timed(static_cast<std::int64_t>(latencies.size()), [&] {
    std::span<nanoseconds> left(latencies);
    for (end& e : ends) {
      if (!e.is_client) continue;
      e.latencies = left.first(each);
      left = left.subspan(each);
      e.before = clock::now();
      io.send(e, question(e));
    }
    int running = connections;
    io.wait_for_messages([&](end& e, const message& m) {
      if (!e.is_client) {
        io.send(e, m);
      } else if (take_answer(e, m)) {
        io.send(e, question(e));
      } else {
        --running;
      }
      return running > 0;
    });
  });
  o.add("conns=%d", connections);
  o.add_latencies("", latencies);
  return o;
}

// Connections, made and accepted 64 at a time.
template <class Io>
outcome tcp_accept(int n) {
  constexpr std::size_t batch = 64;
  const int rounds = std::max(1, n / static_cast<int>(batch));
  descriptors owner;
  const int listener = listen_on_loopback(owner);
  Io io(std::span<end>{});
  return timed(rounds * std::int64_t{batch}, [&] {
    std::array<int, batch> clients, accepted;
    for (int round = 0; round < rounds; ++round) {
      for (int& client : clients) client = connect_with(listener);
      io.accept(listener, accepted);
      close_all(clients);
      close_all(accepted);
    }
  });
}

// As many reads at once as there are numbers.
template <class Io>
outcome read_pages(Io& io, int n, std::span<std::uint64_t> numbers) {
  const int rounds = std::max(1, n / static_cast<int>(numbers.size()));
  return timed(rounds * static_cast<std::int64_t>(numbers.size()), [&] {
    std::uint64_t seed = 1;
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t& number : numbers) number = splitmix(seed++) % page_count;
      io.read_pages(numbers, [](std::uint64_t number, std::byte first) {
        check(first == std::byte(number % 256), "page");
      });
    }
  });
}

// batch32_ns: the CPU time of a read of which 32 are under way at once.
template <class Io>
outcome file_read_4k(int n) {
  descriptors owner;
  Io io(owner.add(make_pages(), "pages"));
  std::array<std::uint64_t, 32> numbers;
  outcome o = read_pages(io, n, std::span(numbers).first(1));
  const outcome batches = read_pages(io, n, numbers);
  o.add("batch32_ns=%.2f", ns_each(batches.cpu, batches.ops));
  return o;
}

// The peer's table of rows.
template <class Io>
inline constexpr workload bare_rows[] = {
    {"tcp_echo", 400'000, 20'000, [](int n) { return tcp_echo<Io>(n, 64); }},
    {"tcp_echo_c1", 100'000, 5'000, [](int n) { return tcp_echo<Io>(n, 1); }},
    {"tcp_echo_c1000", 400'000, 20'000, [](int n) { return tcp_echo<Io>(n, 1000); }},
    {"tcp_accept", 50'000, 1'000, tcp_accept<Io>},
    {"file_read_4k", 1'000'000, 50'000, file_read_4k<Io>},
};

}  // namespace bench
