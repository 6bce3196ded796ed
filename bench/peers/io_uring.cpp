// io_uring by liburing, used as it is fastest: one ring for one thread, receives and accepts that
// last (multishot) with buffers from a ring that the kernel takes them from, sends that need no
// completion, and one system call for all of them. One thread, whatever BENCH_PROCS says.
#include "uring.hpp"

#include <sys/socket.h>

#include <cstring>

namespace bench {

namespace {

constexpr unsigned buffers = 4096;  // a power of two
constexpr int buffer_group = 0;

class uring_io {
 public:
  explicit uring_io(int file) {
    check(::io_uring_register_files(ring_.get(), &file, 1) == 0, "register files");
  }
  explicit uring_io(std::span<end> ends) : messages_(buffers) {
    lend_buffers();
    for (end& e : ends) receive(e);
  }
  uring_io(const uring_io&) = delete;

  void send(end& e, const message& m) {
    e.out = m;  // where it stays until it is sent: before the answer comes
    io_uring_sqe* s = ring_.next_sqe();
    ::io_uring_prep_send(s, e.fd, e.out.data(), e.out.size(), MSG_NOSIGNAL);
    s->flags |= IOSQE_CQE_SKIP_SUCCESS;
    ::io_uring_sqe_set_data(s, nullptr);
  }

  template <class Handle>
  void wait_for_messages(Handle handle) {
    for (bool goes_on = true; goes_on;) {
      ring_.for_each_completion([&](const io_uring_cqe& c) {
        auto* e = static_cast<end*>(::io_uring_cqe_get_data(&c));
        check(e != nullptr && c.res == sizeof(message), "message");
        const auto buffer = static_cast<unsigned short>(c.flags >> IORING_CQE_BUFFER_SHIFT);
        if (goes_on) goes_on = handle(*e, messages_[buffer]);
        give_back(buffer);
        if ((c.flags & IORING_CQE_F_MORE) == 0) receive(*e);
      });
      ::io_uring_buf_ring_advance(lent_, given_back_);
      given_back_ = 0;
    }
  }

  void accept(int listener, std::span<int> sockets) {
    for (std::size_t have = 0; have < sockets.size();) {
      if (!is_accepting_) {
        ::io_uring_prep_multishot_accept(ring_.next_sqe(), listener, nullptr, nullptr,
                                         SOCK_CLOEXEC);
        is_accepting_ = true;
      }
      ring_.for_each_completion([&](const io_uring_cqe& c) {
        check(c.res >= 0, "accept");
        sockets[have++] = c.res;
        is_accepting_ = (c.flags & IORING_CQE_F_MORE) != 0;
      });
    }
  }

  template <class Handle>
  void read_pages(std::span<const std::uint64_t> numbers, Handle handle) {
    ring_.read_pages(0, IOSQE_FIXED_FILE, numbers, handle);
  }

 private:
  void lend_buffers() {
    lent_memory_.resize(buffers * sizeof(io_uring_buf) / sizeof(lent_page));
    lent_ = reinterpret_cast<io_uring_buf_ring*>(lent_memory_.data());
    io_uring_buf_reg where = {};
    where.ring_addr = reinterpret_cast<std::uintptr_t>(lent_);
    where.ring_entries = buffers;
    where.bgid = buffer_group;
    check(::io_uring_register_buf_ring(ring_.get(), &where, 0) == 0, "register buffers");
    for (unsigned short i = 0; i < buffers; ++i) give_back(i);
    ::io_uring_buf_ring_advance(lent_, given_back_);
    given_back_ = 0;
  }

  void give_back(unsigned short buffer) {
    ::io_uring_buf_ring_add(lent_, messages_[buffer].data(), sizeof(message), buffer, buffers - 1,
                            given_back_++);
  }

  void receive(end& e) {
    io_uring_sqe* s = ring_.next_sqe();
    ::io_uring_prep_recv_multishot(s, e.fd, nullptr, 0, 0);
    s->flags |= IOSQE_BUFFER_SELECT;
    s->buf_group = buffer_group;
    ::io_uring_sqe_set_data(s, &e);
  }

  struct alignas(page_bytes) lent_page {
    std::array<io_uring_buf, page_bytes / sizeof(io_uring_buf)> all;
  };

  uring ring_{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
  std::vector<message> messages_;
  std::vector<lent_page> lent_memory_;
  io_uring_buf_ring* lent_ = nullptr;
  int given_back_ = 0;
  bool is_accepting_ = false;
};

}  // namespace

std::span<const workload> peer_rows() { return bare_rows<uring_io>; }

}  // namespace bench
