// A bare edge-triggered epoll loop. One thread, whatever BENCH_PROCS says.
#include "bare_io.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace bench {

namespace {

class epoll_io {
 public:
  explicit epoll_io(int file) : file_(file) {}
  explicit epoll_io(std::span<end> ends) {
    for (end& e : ends) watch(e.fd, &e);
  }
  epoll_io(const epoll_io&) = delete;
  ~epoll_io() { ::close(poller_); }

  void send(const end& e, const message& m) {
    const ssize_t n = ::send(e.fd, m.data(), m.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    check(n == ssize_t{sizeof m}, "send");
  }

  template <class Handle>
  void wait_for_messages(Handle handle) {
    for (;;) {
      const int n = wait();
      for (int i = 0; i < n; ++i) {
        if (!read_all(*static_cast<end*>(events_[static_cast<std::size_t>(i)].data.ptr), handle))
          return;
      }
    }
  }

  void accept(int listener, std::span<int> sockets) {
    if (!is_watched_) watch(listener, nullptr);
    is_watched_ = true;
    for (std::size_t have = 0; have < sockets.size();) {
      wait();
      while (have < sockets.size()) {
        const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        check(fd >= 0, "accept");
        sockets[have++] = fd;
      }
    }
  }

  template <class Handle>
  void read_pages(std::span<const std::uint64_t> numbers, Handle handle) {
    for (const std::uint64_t number : numbers) {
      const auto at = static_cast<off_t>(number * page_.size());
      check(::pread(file_, page_.data(), page_.size(), at) == ssize_t{sizeof page_}, "pread");
      handle(number, page_[0]);
    }
  }

 private:
  void watch(int fd, end* e) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = e;
    check(::epoll_ctl(poller_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
  }

  int wait() { return ::epoll_wait(poller_, events_.data(), static_cast<int>(events_.size()), -1); }

  // Until there is nothing left, as edges demand.
  template <class Handle>
  bool read_all(end& e, Handle& handle) {
    for (;;) {
      message m;
      const ssize_t n = ::recv(e.fd, m.data(), m.size(), MSG_DONTWAIT);
      if (n < 0) {
        check(errno == EAGAIN, "recv");
        return true;
      }
      check(n == ssize_t{sizeof m},
            "message");  // 64 bytes that were sent at once come at once here
      if (!handle(e, m)) return false;
    }
  }

  const int poller_ = ::epoll_create1(EPOLL_CLOEXEC);
  int file_ = -1;
  bool is_watched_ = false;  // the listener
  std::array<epoll_event, 128> events_;
  std::array<std::byte, page_bytes> page_;
};

}  // namespace

std::span<const workload> peer_rows() { return bare_rows<epoll_io>; }

}  // namespace bench
