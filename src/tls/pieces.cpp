#include "tls/pieces.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace sley::tls {

pieces::pieces(std::span<const iovec> buffers) noexcept : rest_(buffers) { cut(); }

void pieces::cut() noexcept {
  skip_empty();
  const bool is_small = !rest_.empty() && rest_.front().iov_len - offset_ < small_bytes;
  if (is_small && rest_.size() > 1) {
    gather();
  } else {
    front_ = take(record_bytes);
  }
}

void pieces::skip_empty() noexcept {
  while (!rest_.empty() && offset_ == rest_.front().iov_len) {
    offset_ = 0;
    rest_ = rest_.subspan(1);
  }
}

std::span<const std::byte> pieces::take(std::size_t most) noexcept {
  if (rest_.empty()) return {};
  const auto* begin = static_cast<const std::byte*>(rest_.front().iov_base) + offset_;
  const std::size_t n = std::min(most, rest_.front().iov_len - offset_);
  offset_ += n;
  return {begin, n};
}

void pieces::gather() noexcept {
  if (gathered_ == nullptr) gathered_.reset(new (std::nothrow) std::byte[record_bytes]);
  if (gathered_ == nullptr) {
    front_ = take(record_bytes);  // more records, but they arrive
    return;
  }
  std::size_t n = 0;
  for (; n < record_bytes && !rest_.empty(); skip_empty()) {
    const std::span<const std::byte> more = take(record_bytes - n);
    if (!more.empty()) std::memcpy(gathered_.get() + n, more.data(), more.size());
    n += more.size();
  }
  front_ = {gathered_.get(), n};
}

}  // namespace sley::tls
