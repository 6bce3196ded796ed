// Reading and writing bytes. All on the way from a member function to its system call is inlined
// (flatten), for each function that returns after one costs: platform/system_call.hpp.
#include <sley/detail/io_object.hpp>

#include "io/perform.hpp"
#include "io/put.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace sley {

namespace io {

namespace {

using detail::descriptor;
using detail::io_kind;

std::size_t bytes_in(std::span<const iovec> buffers) noexcept {
  std::size_t sum = 0;
  for (const iovec& buffer : buffers) sum += buffer.iov_len;
  return sum;
}

// Reads of so little mostly are of a message's head, or of one whose size is known: they come back
// full, which tells nothing. It is worth asking then whether more is left, for a hundred
// nanoseconds, instead of finding out by another call.
constexpr std::size_t small_read = 1024;

// The kernel takes no more at once.
std::span<const iovec> admissible(std::span<const iovec> buffers) noexcept {
  constexpr std::size_t most_buffers = 1024;  // IOV_MAX
  return buffers.first(std::min(buffers.size(), most_buffers));
}

bool is_socket(io_kind kind) noexcept {
  return kind == io_kind::stream_socket || kind == io_kind::tcp_socket;
}

// A socket's own call is shorter than that of all files.
long read_into(int fd, std::span<const iovec> buffers, io_kind kind) noexcept {
  if (buffers.size() != 1) {
    return platform::kernel::readv(fd, buffers.data(), static_cast<int>(buffers.size()));
  }
  const iovec& whole = buffers.front();
  return is_socket(kind)
             ? platform::kernel::recvfrom(fd, whole.iov_base, whole.iov_len, 0, nullptr, nullptr)
             : platform::kernel::read(fd, whole.iov_base, whole.iov_len);
}

// As read_into on a TCP socket. `is_empty` is set if nothing is left.
long read_and_ask(int fd, std::span<const iovec> buffers, bool& is_empty) noexcept {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(buffers.data());
  message.msg_iovlen = buffers.size();
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long n = platform::kernel::recvmsg(fd, &message, 0);
  const cmsghdr* told = n < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (told != nullptr && told->cmsg_level == SOL_TCP && told->cmsg_type == TCP_CM_INQ) {
    int left = 0;
    std::memcpy(&left, CMSG_DATA(told), sizeof left);
    is_empty = left == 0;
  }
  return n;
}

// Does a short read of it tell that nothing is left (epoll(7))?
bool is_stream(io_kind kind) noexcept { return is_socket(kind) || kind == io_kind::pipe; }

// Walks over the bytes of several buffers, a window of them at a time.
class cursor {
 public:
  explicit cursor(std::span<const iovec> buffers) noexcept : rest_(buffers) { skip_empty(); }
  bool is_at_end() const noexcept { return rest_.empty(); }

  std::span<const iovec> window() noexcept {
    const std::size_t n = std::min(rest_.size(), std::size(window_));
    std::copy_n(rest_.begin(), n, window_);
    window_[0].iov_base = static_cast<char*>(window_[0].iov_base) + offset_;
    window_[0].iov_len -= offset_;
    return {window_, n};
  }

  void advance(std::size_t bytes) noexcept {
    offset_ += bytes;
    skip_empty();
  }

 private:
  void skip_empty() noexcept {
    while (!rest_.empty() && offset_ >= rest_.front().iov_len) {
      offset_ -= rest_.front().iov_len;
      rest_ = rest_.subspan(1);
    }
  }

  std::span<const iovec> rest_;
  std::size_t offset_ = 0;  // into the first of them
  iovec window_[16];
};

std::size_t read_some(const descriptor& d, std::span<const iovec> buffers,
                      std::error_code& error) noexcept {
  error.clear();
  const std::size_t wanted = bytes_in(buffers);
  if (wanted == 0) return 0;
  const io_kind kind = d.kind();
  const bool asks = kind == io_kind::tcp_socket && wanted <= small_read;
  bool is_empty = false;
  const long n = perform(
      d.get(), direction::read,
      [&is_empty, asks, kind, buffers = admissible(buffers)](int fd) {
        return asks ? read_and_ask(fd, buffers, is_empty) : read_into(fd, buffers, kind);
      },
      [kind, wanted, &is_empty](long got) {
        return got > 0 && (is_empty || (is_stream(kind) && std::cmp_less(got, wanted)));
      },
      error);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::size_t write_some(const descriptor& d, std::span<const iovec> buffers,
                       std::error_code& error) noexcept {
  const std::size_t wanted = bytes_in(buffers);
  const long n = perform(
      d.get(), direction::write,
      [buffers = admissible(buffers), kind = d.kind()](int fd) { return put(fd, buffers, kind); },
      [wanted](long put) { return std::cmp_less(put, wanted); }, error);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::size_t write_all(const descriptor& d, std::span<const iovec> buffers,
                      std::error_code& error) noexcept {
  error.clear();
  rt::watched* w = d.get();
  if (refuse(w, error)) return 0;
  std::size_t done = 0;
  cursor cursor(buffers);
  turn turn(w, w->writing);
  turn.more_to_come();  // whatever ends it: an error is told to the next as well
  while (!cursor.is_at_end()) {
    const std::span<const iovec> window = cursor.window();
    const long n = call_in_turn(
        turn, w, [window, kind = d.kind()](int fd) { return put(fd, window, kind); }, error);
    if (n < 0) return done;
    done += static_cast<std::size_t>(n);
    cursor.advance(static_cast<std::size_t>(n));
    if (w->is_polled && std::cmp_less(n, bytes_in(window))) turn.wait();
  }
  return done;
}

iovec one(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

}  // namespace io

namespace detail {

[[gnu::flatten]] std::size_t byte_object::read_some(std::span<std::byte> buffer,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(buffer);
  return io::read_some(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_object::read_some(std::span<const iovec> buffers,
                                                    std::error_code& error) const noexcept {
  return io::read_some(descriptor_, buffers, error);
}

[[gnu::flatten]] std::size_t byte_object::write_some(std::span<const std::byte> bytes,
                                                     std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_some(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_object::write_some(std::span<const iovec> buffers,
                                                     std::error_code& error) const noexcept {
  return io::write_some(descriptor_, buffers, error);
}

[[gnu::flatten]] std::size_t byte_object::write_all(std::span<const std::byte> bytes,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_all(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_object::write_all(std::span<const iovec> buffers,
                                                    std::error_code& error) const noexcept {
  return io::write_all(descriptor_, buffers, error);
}

}  // namespace detail

}  // namespace sley
