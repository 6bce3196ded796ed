// The yardstick for tcp_echo: the same connections, messages and checks in one thread on a bare
// edge-triggered epoll loop, with nothing in between. Prints tcp_echo's line.
//
//   epoll_echo [round trips] [connections]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

constexpr std::size_t message_bytes = 64;

void check(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

// One end of a connection.
struct end {
  int fd = -1;
  bool is_client = false;
  std::uint8_t who = 0;
  std::uint8_t round = 0;
  int left = 0;  // round trips, of a client
  clock_type::time_point before;
  std::vector<double> latencies_us;
};

int make_socket() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(fd >= 0, "socket");
  return fd;
}

void watch(int poller, end& e) {
  const int on = 1;
  check(::setsockopt(e.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = &e;
  check(::epoll_ctl(poller, EPOLL_CTL_ADD, e.fd, &event) == 0, "epoll_ctl");
}

void send(const end& e, const std::array<unsigned char, message_bytes>& m) {
  check(::send(e.fd, m.data(), m.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == message_bytes, "send");
}

void ask(end& e) {
  std::array<unsigned char, message_bytes> m{};
  m.front() = e.round;
  m.back() = e.who;
  send(e, m);
}

// True if it was the last round trip of a client.
bool take_answer(end& e, const std::array<unsigned char, message_bytes>& m) {
  check(m.front() == e.round && m.back() == e.who, "echo");
  const clock_type::time_point now = clock_type::now();
  e.latencies_us.push_back(std::chrono::duration<double, std::micro>(now - e.before).count());
  e.before = now;
  ++e.round;
  if (--e.left == 0) return true;
  ask(e);
  return false;
}

// Reads until there is nothing left. True as take_answer.
bool serve(end& e) {
  for (;;) {
    std::array<unsigned char, message_bytes> m;
    const ssize_t n = ::recv(e.fd, m.data(), m.size(), MSG_DONTWAIT);
    if (n < 0) {
      check(errno == EAGAIN, "recv");
      return false;
    }
    check(n == message_bytes, "message");  // 64 bytes that were sent at once come at once here
    if (!e.is_client) {
      send(e, m);
    } else if (take_answer(e, m)) {
      return true;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 400'000;
  const int connections = argc > 2 ? std::atoi(argv[2]) : 64;
  if (wanted < 1 || connections < 1 || connections > 255) {
    std::fprintf(stderr, "usage: epoll_echo [round trips] [connections, at most 255]\n");
    return 2;
  }
  const int each = std::max(1, wanted / connections);
  const int poller = ::epoll_create1(EPOLL_CLOEXEC);
  const int listener = make_socket();
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check(::bind(listener, generic, size) == 0 && ::listen(listener, 256) == 0, "listen");
  check(::getsockname(listener, generic, &size) == 0, "getsockname");

  std::vector<std::unique_ptr<end>> ends;
  for (int i = 0; i < connections; ++i) {
    for (const bool is_client : {true, false}) {
      auto e = std::make_unique<end>();
      e->is_client = is_client;
      e->who = static_cast<std::uint8_t>(i);
      e->left = each;
      e->fd = is_client ? make_socket() : ::accept(listener, nullptr, nullptr);
      check(!is_client || ::connect(e->fd, generic, size) == 0, "connect");
      check(e->fd >= 0, "accept");
      watch(poller, *e);
      ends.push_back(std::move(e));
    }
  }

  const clock_type::time_point start = clock_type::now();
  const std::clock_t cpu_before = std::clock();
  for (const auto& e : ends) {
    e->before = start;
    if (e->is_client) ask(*e);
  }
  for (int running = connections; running > 0;) {
    std::array<epoll_event, 128> events;
    const int n = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < n; ++i) {
      running -= serve(*static_cast<end*>(events[static_cast<std::size_t>(i)].data.ptr)) ? 1 : 0;
    }
  }
  const double wall_ns =
      std::chrono::duration<double, std::nano>(clock_type::now() - start).count();
  const double cpu_ms = static_cast<double>(std::clock() - cpu_before) * 1e3 / CLOCKS_PER_SEC;

  std::vector<double> all;
  for (const auto& e : ends) {
    all.insert(all.end(), e->latencies_us.begin(), e->latencies_us.end());
  }
  std::sort(all.begin(), all.end());
  const auto at = [&all](double part) {
    return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  };
  std::printf(
      "workload=tcp_echo procs=1 ops=%zu ns_per_op=%.2f wall_ms=%.2f cpu_ms=%.2f conns=%d "
      "p50_us=%.1f p99_us=%.1f max_us=%.1f\n",
      all.size(), wall_ns / static_cast<double>(all.size()), wall_ns / 1e6, cpu_ms, connections,
      at(0.5), at(0.99), all.back());
}
