// The bytes of several buffers, cut for the records they are sent in: each record costs some 30
// bytes and a call of the cipher, so small buffers share one.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

struct iovec;

namespace sley::tls {

class pieces {
 public:
  explicit pieces(std::span<const iovec> buffers) noexcept;

  // What comes next, a record's worth at most. Empty at the end.
  std::span<const std::byte> front() const noexcept { return front_; }
  void pop() noexcept { cut(); }

 private:
  static constexpr std::size_t record_bytes = 16 * 1024;
  static constexpr std::size_t small_bytes = 4 * 1024;  // below, copying is the lesser cost

  void cut() noexcept;
  void skip_empty() noexcept;
  std::span<const std::byte> take(std::size_t most) noexcept;
  void gather() noexcept;

  std::span<const iovec> rest_;
  std::size_t offset_ = 0;  // into the first of them
  std::span<const std::byte> front_;
  std::unique_ptr<std::byte[]> gathered_;
};

}  // namespace sley::tls
