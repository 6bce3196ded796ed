// io_uring by liburing, used as the calls of a library can use it: a receive begins when it is
// called, and the kernel writes to where the caller wants the bytes; a send ends when the kernel
// has taken them. Any thread may enter the ring, one at a time, because a processor's ring would go
// with the processor from thread to thread. One system call for all that has begun since the last
// one. One thread, whatever BENCH_PROCS says.
#include "uring.hpp"

#include <sys/socket.h>

namespace bench {

namespace {

class uring_calls_io {
 public:
  explicit uring_calls_io(int file) : file_(file) {}
  explicit uring_calls_io(std::span<end> ends) : calls_(ends.size()), first_(ends.data()) {
    for (end& e : ends) {
      if (!e.is_client) receive(e);
    }
  }
  uring_calls_io(const uring_calls_io&) = delete;

  void send(end& e, const message& m) {
    e.out = m;
    call& c = call_of(e);
    c.sends = true;
    io_uring_sqe* s = ring_.next_sqe();
    ::io_uring_prep_send(s, e.fd, e.out.data(), e.out.size(), MSG_NOSIGNAL);
    ::io_uring_sqe_set_data(s, &e);
  }

  template <class Handle>
  void wait_for_messages(Handle handle) {
    for (bool goes_on = true; goes_on;) {
      ring_.for_each_completion([&](const io_uring_cqe& completion) {
        auto* e = static_cast<end*>(::io_uring_cqe_get_data(&completion));
        check(completion.res == sizeof(message), "message");
        call& c = call_of(*e);
        if (c.sends) {
          receive(*e);
        } else if (goes_on) {
          goes_on = handle(*e, c.in);
        }
      });
    }
  }

  void accept(int listener, std::span<int> sockets) {
    for (int& socket : sockets) {
      ::io_uring_prep_accept(ring_.next_sqe(), listener, nullptr, nullptr, SOCK_CLOEXEC);
      ring_.for_each_completion([&](const io_uring_cqe& c) { socket = c.res; });
      check(socket >= 0, "accept");
    }
  }

  template <class Handle>
  void read_pages(std::span<const std::uint64_t> numbers, Handle handle) {
    ring_.read_pages(file_, 0, numbers, handle);
  }

 private:
  // What the program waits for at an end.
  struct call {
    message in;
    bool sends = false;
  };

  call& call_of(const end& e) { return calls_[static_cast<std::size_t>(&e - first_)]; }

  void receive(end& e) {
    call& c = call_of(e);
    c.sends = false;
    io_uring_sqe* s = ring_.next_sqe();
    ::io_uring_prep_recv(s, e.fd, c.in.data(), c.in.size(), 0);
    ::io_uring_sqe_set_data(s, &e);
  }

  uring ring_{IORING_SETUP_COOP_TASKRUN};
  int file_ = -1;
  std::vector<call> calls_;
  end* first_ = nullptr;
};

}  // namespace

std::span<const workload> peer_rows() { return bare_rows<uring_calls_io>; }

}  // namespace bench
