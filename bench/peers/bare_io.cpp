#include "bare_io.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

namespace {

int new_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

void send_at_once(int fd) {
  const int on = 1;
  check(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
}

}  // namespace

descriptors::~descriptors() { close_all(all_); }

int descriptors::add(int fd, const char* what) {
  check(fd >= 0, what);
  return all_.emplace_back(fd);
}

void close_all(std::span<const int> sockets) {
  for (const int fd : sockets) ::close(fd);
}

int listen_on_loopback(descriptors& owner) {
  const int listener = owner.add(new_socket(), "socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  check(::bind(listener, generic, sizeof address) == 0 && ::listen(listener, 1024) == 0, "listen");
  return listener;
}

int connect_with(int listener) {
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check(::getsockname(listener, generic, &size) == 0, "getsockname");
  const int fd = new_socket();
  check(fd >= 0 && ::connect(fd, generic, size) == 0, "connect");
  return fd;
}

std::vector<end> make_ends(descriptors& owner, int connections) {
  const int listener = listen_on_loopback(owner);
  std::vector<end> ends(static_cast<std::size_t>(connections) * 2);
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    ends[i].is_client = true;
    ends[i].fd = owner.add(connect_with(listener), "connect");
    ends[i + 1].fd = owner.add(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
    for (end* e : {&ends[i], &ends[i + 1]}) {
      e->number = static_cast<std::uint8_t>(i / 2);
      send_at_once(e->fd);
    }
  }
  return ends;
}

message question(const end& client) {
  message m{};
  m.front() = std::byte{client.round};
  m.back() = std::byte{client.number};
  return m;
}

bool take_answer(end& client, const message& m) {
  check(m.front() == std::byte{client.round} && m.back() == std::byte{client.number}, "echo");
  const clock::time_point now = clock::now();
  client.latencies.front() = now - client.before;
  client.latencies = client.latencies.subspan(1);
  client.before = now;
  ++client.round;
  return !client.latencies.empty();
}

void run_on_peer(int, const std::function<void()>& body) { body(); }

}  // namespace bench
