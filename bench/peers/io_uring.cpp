// io_uring by liburing, used as it is fastest: one ring for one thread, receives and accepts that
// last (multishot) with buffers from a ring that the kernel takes them from, sends that need no
// completion, and one system call for all of them. One thread, whatever BENCH_PROCS says.
#include "bare_io.hpp"

#include <liburing.h>
#include <sys/socket.h>

#include <cstring>

namespace bench {

namespace {

constexpr unsigned entries = 4096;
constexpr unsigned buffers = 4096;  // a power of two
constexpr int buffer_group = 0;

class uring_io {
 public:
  explicit uring_io(int file) : pages_(entries) {
    set_up();
    check(::io_uring_register_files(&ring_, &file, 1) == 0, "register files");
  }
  explicit uring_io(std::span<end> ends) : messages_(buffers) {
    set_up();
    lend_buffers();
    for (end& e : ends) receive(e);
  }
  uring_io(const uring_io&) = delete;
  ~uring_io() { ::io_uring_queue_exit(&ring_); }

  void send(end& e, const message& m) {
    e.out = m;  // where it stays until it is sent: before the answer comes
    io_uring_sqe* s = next_sqe();
    ::io_uring_prep_send(s, e.fd, e.out.data(), e.out.size(), MSG_NOSIGNAL);
    s->flags |= IOSQE_CQE_SKIP_SUCCESS;
    ::io_uring_sqe_set_data(s, nullptr);
  }

  template <class Handle>
  void wait_for_messages(Handle handle) {
    for (bool goes_on = true; goes_on;) {
      for_each_completion([&](const io_uring_cqe& c) {
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
        ::io_uring_prep_multishot_accept(next_sqe(), listener, nullptr, nullptr, SOCK_CLOEXEC);
        is_accepting_ = true;
      }
      for_each_completion([&](const io_uring_cqe& c) {
        check(c.res >= 0, "accept");
        sockets[have++] = c.res;
        is_accepting_ = (c.flags & IORING_CQE_F_MORE) != 0;
      });
    }
  }

  template <class Handle>
  void read_pages(std::span<const std::uint64_t> numbers, Handle handle) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      io_uring_sqe* s = next_sqe();
      ::io_uring_prep_read(s, 0, pages_[i].data(), page_bytes, numbers[i] * page_bytes);
      s->flags |= IOSQE_FIXED_FILE;
      s->user_data = i;
    }
    for (std::size_t have = 0; have < numbers.size();) {
      for_each_completion([&](const io_uring_cqe& c) {
        check(c.res == page_bytes, "read");
        handle(numbers[c.user_data], pages_[c.user_data][0]);
        ++have;
      });
    }
  }

 private:
  void set_up() {
    io_uring_params params = {};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE;
    params.cq_entries = 4 * entries;
    check(::io_uring_queue_init_params(entries, &ring_, &params) == 0, "io_uring_setup");
  }

  void lend_buffers() {
    lent_memory_.resize(buffers * sizeof(io_uring_buf) / sizeof(lent_page));
    lent_ = reinterpret_cast<io_uring_buf_ring*>(lent_memory_.data());
    io_uring_buf_reg where = {};
    where.ring_addr = reinterpret_cast<std::uintptr_t>(lent_);
    where.ring_entries = buffers;
    where.bgid = buffer_group;
    check(::io_uring_register_buf_ring(&ring_, &where, 0) == 0, "register buffers");
    for (unsigned short i = 0; i < buffers; ++i) give_back(i);
    ::io_uring_buf_ring_advance(lent_, given_back_);
    given_back_ = 0;
  }

  void give_back(unsigned short buffer) {
    ::io_uring_buf_ring_add(lent_, messages_[buffer].data(), sizeof(message), buffer, buffers - 1,
                            given_back_++);
  }

  void receive(end& e) {
    io_uring_sqe* s = next_sqe();
    ::io_uring_prep_recv_multishot(s, e.fd, nullptr, 0, 0);
    s->flags |= IOSQE_BUFFER_SELECT;
    s->buf_group = buffer_group;
    ::io_uring_sqe_set_data(s, &e);
  }

  io_uring_sqe* next_sqe() {
    io_uring_sqe* s = ::io_uring_get_sqe(&ring_);
    if (s == nullptr) {
      ::io_uring_submit(&ring_);
      s = ::io_uring_get_sqe(&ring_);
    }
    check(s != nullptr, "submission");
    return s;
  }

  // Submits what was prepared, waits for at least one completion, and takes all that there are.
  template <class Take>
  void for_each_completion(Take take) {
    check(::io_uring_submit_and_wait(&ring_, 1) >= 0, "io_uring_enter");
    std::array<io_uring_cqe*, 128> some;
    while (const unsigned n = ::io_uring_peek_batch_cqe(&ring_, some.data(), some.size())) {
      for (unsigned i = 0; i < n; ++i) take(*some[i]);
      ::io_uring_cq_advance(&ring_, n);
    }
  }

  struct alignas(page_bytes) lent_page {
    std::array<io_uring_buf, page_bytes / sizeof(io_uring_buf)> all;
  };

  io_uring ring_;
  std::vector<message> messages_;
  std::vector<std::array<std::byte, page_bytes>> pages_;
  std::vector<lent_page> lent_memory_;
  io_uring_buf_ring* lent_ = nullptr;
  int given_back_ = 0;
  bool is_accepting_ = false;
};

}  // namespace

std::span<const workload> peer_rows() { return bare_rows<uring_io>; }

}  // namespace bench
