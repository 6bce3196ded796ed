// Reading and writing bytes. All on the way from a member function to its system call is inlined
// (flatten), because each function that returns after a system call costs time:
// platform/system_call.hpp.
#include <sley/byte_stream.hpp>

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

// The part of the caller's buffers that one system call takes. It does not begin with an empty
// buffer: a read into empty buffers alone would return 0, which means the end.
class portion {
 public:
  explicit portion(std::span<const iovec> all) noexcept {
    while (!all.empty() && all.front().iov_len == 0) all = all.subspan(1);
    if (!all.empty() && all.front().iov_len > most_bytes_at_once) {
      cut_ = {all.front().iov_base, most_bytes_at_once};
      all = {&cut_, 1};
    }
    std::size_t count = 0;
    for (const iovec& buffer : all.first(std::min(all.size(), most_buffers_at_once))) {
      if (buffer.iov_len > most_bytes_at_once - bytes_) break;
      bytes_ += buffer.iov_len;
      ++count;
    }
    buffers_ = all.first(count);
  }
  portion(const portion&) = delete;
  portion& operator=(const portion&) = delete;

  std::span<const iovec> buffers() const noexcept { return buffers_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t most_buffers_at_once = 1024;  // IOV_MAX

  iovec cut_ = {};  // stands for a buffer that is too large
  std::span<const iovec> buffers_;
  std::size_t bytes_ = 0;
};

// Reads of so little mostly are of a message's head, or of one whose size is known: they come back
// full, which tells nothing. It is worth asking then whether more is left, for a hundred
// nanoseconds, instead of finding out by another call.
constexpr std::size_t small_read = 1024;

// A socket's own call is shorter than that of all files.
long read_into(int fd, std::span<const iovec> buffers, io_kind kind) noexcept {
  if (buffers.size() != 1) {
    return platform::kernel::readv(fd, buffers.data(), static_cast<int>(buffers.size()));
  }
  const iovec& whole = buffers.front();
  return is_stream_socket(kind)
             ? platform::kernel::recvfrom(fd, whole.iov_base, whole.iov_len, 0, nullptr, nullptr)
             : platform::kernel::read(fd, whole.iov_base, whole.iov_len);
}

// Whether bytes are left after a read, as far as the read has told.
enum class rest : unsigned char { unknown, none, some };

// For reads of a TCP socket that tells by TCP_INQ how much is left.
struct asking_message {
  msghdr header;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];

  explicit asking_message(std::span<const iovec> buffers) noexcept : header(message_of(buffers)) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  asking_message(const asking_message&) = delete;
  asking_message& operator=(const asking_message&) = delete;

  // After a read that was no error.
  rest left() noexcept {
    const cmsghdr* told = CMSG_FIRSTHDR(&header);
    if (told == nullptr || told->cmsg_level != SOL_TCP || told->cmsg_type != TCP_CM_INQ) {
      return rest::unknown;
    }
    int bytes = 0;
    std::memcpy(&bytes, CMSG_DATA(told), sizeof bytes);
    return bytes == 0 ? rest::none : rest::some;
  }
};

// One system call that reads.
struct reading {
  std::span<const iovec> buffers;
  io_kind kind;
  bool asks;  // it is a TCP socket, and the read sets `left`
  rest& left;

  long operator()(int fd) const noexcept {
    if (!asks) return read_into(fd, buffers, kind);
    asking_message message(buffers);
    const long n = platform::kernel::recvmsg(fd, &message.header, 0);
    if (n >= 0) left = message.left();
    return n;
  }
  [[gnu::noinline]] long together(int fd) const noexcept {
    if (!is_stream_socket(kind)) return platform::not_made;
    if (asks) {
      asking_message message(buffers);
      const long n = attempt_together(platform::receive_message_call(fd, message.header));
      if (n >= 0) left = message.left();
      return n;
    }
    if (buffers.size() == 1) {
      return attempt_together(platform::receive_call(fd, bytes_of(buffers[0])));
    }
    msghdr message = message_of(buffers);
    return attempt_together(platform::receive_message_call(fd, message));
  }
};

// Does a read that leaves room tell that nothing is left? epoll(7) says so of all pipes and stream
// sockets, but the kernel keeps to it on TCP alone. A read of a Unix socket ends at a message that
// carries descriptors, a read of a pipe or of SOCK_SEQPACKET may end with each message, a read of a
// terminal ends with the line. No event tells of the bytes behind that.
bool is_drained_by_short_read(io_kind kind) noexcept { return kind == io_kind::tcp_socket; }

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

template <class... Context>
std::size_t read_some(const descriptor& d, std::span<const iovec> buffers, std::error_code& error,
                      const Context&... ctx) noexcept {
  if (has_ended(error, ctx...)) return 0;
  const portion room(buffers);
  if (room.bytes() == 0) return 0;
  const io_kind kind = d.kind();
  const bool asks = kind == io_kind::tcp_socket && room.bytes() <= small_read;
  rest left = rest::unknown;
  const long n = perform(
      d.get(), direction::read, reading{room.buffers(), kind, asks, left},
      [&left, &room, kind](long got) {
        if (got == 0 || left == rest::some) return false;
        return left == rest::none ||
               (is_drained_by_short_read(kind) && std::cmp_less(got, room.bytes()));
      },
      error, ctx...);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

// A call that writes less than it was given may have had another reason than a lack of room, and
// then no event comes. The next call finds out.
template <class... Context>
std::size_t write_some(const descriptor& d, std::span<const iovec> buffers, std::error_code& error,
                       const Context&... ctx) noexcept {
  const portion bytes(buffers);
  const long n = perform(
      d.get(), direction::write, putting{bytes.buffers(), d.kind()}, [](long) { return false; },
      error, ctx...);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

template <class... Context>
std::size_t write_all(const descriptor& d, std::span<const iovec> buffers, std::error_code& error,
                      const Context&... ctx) noexcept {
  rt::watched* w = d.get();
  if (has_ended(error, ctx...) || refuse(w, error)) return 0;
  std::size_t done = 0;
  cursor cursor(buffers);
  side_lock<Context...> side(w, w->writing, ctx...);
  side.more_to_come();  // whatever ends it: an error is told to the next as well
  while (!cursor.is_at_end()) {
    const portion bytes(cursor.window());
    const long n = call_with_side(side, w, putting{bytes.buffers(), d.kind()}, error);
    if (n <= 0) {
      if (n == 0) error = std::make_error_code(std::errc::io_error);  // or it would never end
      return done;
    }
    done += static_cast<std::size_t>(n);
    cursor.advance(static_cast<std::size_t>(n));
  }
  return done;
}

iovec one(std::span<const std::byte> bytes) noexcept {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

}  // namespace io

[[gnu::flatten]] std::size_t byte_stream::read_some(std::span<std::byte> buffer,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(buffer);
  return io::read_some(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_stream::read_some(std::span<const iovec> buffers,
                                                    std::error_code& error) const noexcept {
  return io::read_some(descriptor_, buffers, error);
}
[[gnu::flatten]] std::size_t byte_stream::read_some(std::span<std::byte> buffer, const context& ctx,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(buffer);
  return io::read_some(descriptor_, {&whole, 1}, error, ctx);
}
[[gnu::flatten]] std::size_t byte_stream::read_some(std::span<const iovec> buffers,
                                                    const context& ctx,
                                                    std::error_code& error) const noexcept {
  return io::read_some(descriptor_, buffers, error, ctx);
}

[[gnu::flatten]] std::size_t byte_stream::write_some(std::span<const std::byte> bytes,
                                                     std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_some(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_stream::write_some(std::span<const iovec> buffers,
                                                     std::error_code& error) const noexcept {
  return io::write_some(descriptor_, buffers, error);
}
[[gnu::flatten]] std::size_t byte_stream::write_some(std::span<const std::byte> bytes,
                                                     const context& ctx,
                                                     std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_some(descriptor_, {&whole, 1}, error, ctx);
}
[[gnu::flatten]] std::size_t byte_stream::write_some(std::span<const iovec> buffers,
                                                     const context& ctx,
                                                     std::error_code& error) const noexcept {
  return io::write_some(descriptor_, buffers, error, ctx);
}

[[gnu::flatten]] std::size_t byte_stream::write_all(std::span<const std::byte> bytes,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_all(descriptor_, {&whole, 1}, error);
}
[[gnu::flatten]] std::size_t byte_stream::write_all(std::span<const iovec> buffers,
                                                    std::error_code& error) const noexcept {
  return io::write_all(descriptor_, buffers, error);
}
[[gnu::flatten]] std::size_t byte_stream::write_all(std::span<const std::byte> bytes,
                                                    const context& ctx,
                                                    std::error_code& error) const noexcept {
  const iovec whole = io::one(bytes);
  return io::write_all(descriptor_, {&whole, 1}, error, ctx);
}
[[gnu::flatten]] std::size_t byte_stream::write_all(std::span<const iovec> buffers,
                                                    const context& ctx,
                                                    std::error_code& error) const noexcept {
  return io::write_all(descriptor_, buffers, error, ctx);
}

}  // namespace sley
