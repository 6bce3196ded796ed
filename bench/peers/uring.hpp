// What the two peers on io_uring share: a ring by liburing, and reads of pages.
#pragma once

#include "bare_io.hpp"

#include <liburing.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

class uring {
 public:
  explicit uring(unsigned flags) {
    io_uring_params params = {};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = 4 * entries;
    check(::io_uring_queue_init_params(entries, &ring_, &params) == 0, "io_uring_setup");
  }
  uring(const uring&) = delete;
  ~uring() { ::io_uring_queue_exit(&ring_); }

  io_uring* get() { return &ring_; }

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

  // `flags` says what `file` is: a descriptor (0) or a registered file (IOSQE_FIXED_FILE).
  template <class Handle>
  void read_pages(int file, unsigned char flags, std::span<const std::uint64_t> numbers,
                  Handle handle) {
    pages_.resize(std::max(pages_.size(), numbers.size()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      io_uring_sqe* s = next_sqe();
      ::io_uring_prep_read(s, file, pages_[i].data(), page_bytes, numbers[i] * page_bytes);
      s->flags |= flags;
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
  static constexpr unsigned entries = 4096;

  io_uring ring_;
  std::vector<std::array<std::byte, page_bytes>> pages_;
};

}  // namespace bench
