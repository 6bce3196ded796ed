#include "io/descriptor.hpp"

#include "io/perform.hpp"
#include "runtime/scheduler.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace sley {

namespace io {

std::error_code error_of(rt::io_result result) noexcept {
  return std::make_error_code(result == rt::io_result::timed_out ? std::errc::timed_out
                                                                 : std::errc::operation_canceled);
}

namespace {

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

long read_into(int fd, std::span<const iovec> buffers) noexcept {
  if (buffers.size() == 1) return ::read(fd, buffers[0].iov_base, buffers[0].iov_len);
  return ::readv(fd, buffers.data(), static_cast<int>(buffers.size()));
}

long write_from(int fd, std::span<const iovec> buffers) noexcept {
  if (buffers.size() == 1) return ::write(fd, buffers[0].iov_base, buffers[0].iov_len);
  return ::writev(fd, buffers.data(), static_cast<int>(buffers.size()));
}

// As read_into on a TCP socket. `is_empty` is set if nothing is left.
long read_and_ask(int fd, std::span<const iovec> buffers, bool& is_empty) noexcept {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(buffers.data());
  message.msg_iovlen = buffers.size();
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const long n = ::recvmsg(fd, &message, 0);
  const cmsghdr* told = n < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (told != nullptr && told->cmsg_level == SOL_TCP && told->cmsg_type == TCP_CM_INQ) {
    int left = 0;
    std::memcpy(&left, CMSG_DATA(told), sizeof left);
    is_empty = left == 0;
  }
  return n;
}

long write_to_pipe(int fd, std::span<const iovec> buffers) noexcept {
  const broken_pipe_expected guard;
  return write_from(fd, buffers);
}

long send_from(int fd, std::span<const iovec> buffers) noexcept {
  if (buffers.size() == 1) {
    return ::send(fd, buffers[0].iov_base, buffers[0].iov_len, MSG_NOSIGNAL);
  }
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(buffers.data());
  message.msg_iovlen = buffers.size();
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

long put(int fd, std::span<const iovec> buffers, detail::io_kind kind) noexcept {
  switch (kind) {
    case detail::io_kind::stream_socket:
    case detail::io_kind::tcp_socket:
    case detail::io_kind::message_socket: return send_from(fd, buffers);
    case detail::io_kind::pipe: return write_to_pipe(fd, buffers);
    default: return write_from(fd, buffers);
  }
}

namespace {

// Does a short read of it tell that nothing is left (epoll(7))?
bool is_stream(detail::io_kind kind) noexcept {
  return kind == detail::io_kind::stream_socket || kind == detail::io_kind::tcp_socket ||
         kind == detail::io_kind::pipe;
}

// A call that needs no turn, on what can't be waited for.
template <class Call>
std::size_t use(rt::watched* w, const Call& call, std::error_code& error) noexcept {
  error.clear();
  if (refuse(w, error)) return 0;
  rt::enter();
  const bool is_open = rt::begin_use(w);
  rt::leave();
  if (!is_open) {
    error = error_of(rt::io_result::closed);
    return 0;
  }
  const long n = attempt_uninterrupted(call, w->fd);
  rt::enter();
  rt::end_use(w);
  rt::leave();
  return is_success(n, error) ? static_cast<std::size_t>(n) : 0;
}

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

void set_deadline(rt::watched* w, direction d, time_point when) {
  if (w == nullptr) return;
  if (!w->is_polled) {
    detail::throw_io_error(std::make_error_code(std::errc::operation_not_supported),
                           "sley: deadline");
  }
  const std::int64_t when_ns = when == time_point::max()
                                   ? rt::never
                                   : std::chrono::nanoseconds(when.time_since_epoch()).count();
  rt::enter();
  const bool is_set = rt::set_deadline(w, side_of(w, d), when_ns);
  rt::leave();
  if (!is_set) throw std::bad_alloc();
}

}  // namespace

}  // namespace io

namespace detail {

void throw_io_error(const std::error_code& error, const char* operation) {
  throw std::system_error(error, operation);
}

descriptor::descriptor(int fd, io_kind kind, std::error_code& error) noexcept : kind_(kind) {
  int number = ENOMEM;
  rt::enter();
  watched_ = kind == io_kind::regular ? rt::hold(fd) : rt::watch(fd, number);
  rt::leave();
  if (watched_ != nullptr) return;
  if (kind != io_kind::borrowed) ::close(fd);
  error = io::system_error_of(number);
}

descriptor::~descriptor() {
  if (watched_ == nullptr) return;
  std::error_code ignored;
  close(ignored);
  rt::enter();
  rt::forget(watched_);
  rt::leave();
}

bool descriptor::is_open() const noexcept {
  return watched_ != nullptr && !watched_->is_closing.load_relaxed();
}

int descriptor::native_handle() const noexcept { return is_open() ? watched_->fd : -1; }

std::size_t descriptor::read_some(std::span<const iovec> buffers,
                                  std::error_code& error) const noexcept {
  error.clear();
  const std::size_t wanted = io::bytes_in(buffers);
  if (wanted == 0) return 0;
  const bool asks = kind_ == io_kind::tcp_socket && wanted <= io::small_read;
  bool is_empty = false;
  const long n = io::perform(
      watched_, io::direction::read,
      [&is_empty, asks, buffers = io::admissible(buffers)](int fd) {
        return asks ? io::read_and_ask(fd, buffers, is_empty) : io::read_into(fd, buffers);
      },
      [this, wanted, &is_empty](long got) {
        return got > 0 && (is_empty || (io::is_stream(kind_) && std::cmp_less(got, wanted)));
      },
      error);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::size_t descriptor::write_some(std::span<const iovec> buffers,
                                   std::error_code& error) const noexcept {
  const std::size_t wanted = io::bytes_in(buffers);
  const long n = io::perform(
      watched_, io::direction::write,
      [buffers = io::admissible(buffers), this](int fd) { return io::put(fd, buffers, kind_); },
      [wanted](long put) { return std::cmp_less(put, wanted); }, error);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::size_t descriptor::write_all(std::span<const iovec> buffers,
                                  std::error_code& error) const noexcept {
  error.clear();
  if (io::refuse(watched_, error)) return 0;
  std::size_t done = 0;
  io::cursor cursor(buffers);
  io::turn turn(watched_, watched_->writing);
  turn.more_to_come();  // whatever ends it: an error is told to the next as well
  while (!cursor.is_at_end()) {
    const std::span<const iovec> window = cursor.window();
    const long n = io::call_in_turn(
        turn, watched_, [window, this](int fd) { return io::put(fd, window, kind_); }, error);
    if (n < 0) return done;
    done += static_cast<std::size_t>(n);
    cursor.advance(static_cast<std::size_t>(n));
    if (watched_->is_polled && std::cmp_less(n, io::bytes_in(window))) turn.wait();
  }
  return done;
}

std::size_t descriptor::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                                std::error_code& error) const noexcept {
  return io::use(
      watched_,
      [=](int fd) { return ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(offset)); },
      error);
}

std::size_t descriptor::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                                 std::error_code& error) const noexcept {
  return io::use(
      watched_,
      [=](int fd) { return ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)); },
      error);
}

void descriptor::set_read_deadline(time_point when) const {
  io::set_deadline(watched_, io::direction::read, when);
}

void descriptor::set_write_deadline(time_point when) const {
  io::set_deadline(watched_, io::direction::write, when);
}

void descriptor::close(std::error_code& error, const char* file) noexcept {
  error.clear();
  if (watched_ == nullptr) return;
  rt::enter();
  const bool is_ours = rt::unwatch(watched_);
  rt::leave();
  // An EINTR of close(2) has closed it all the same.
  if (!is_ours || kind_ == io_kind::borrowed) return;
  if (file != nullptr) blocking([file] { ::unlink(file); });
  const long result = io::attempt(::close, watched_->fd);
  if (result != -EINTR) io::is_success(result, error);
}

}  // namespace detail

}  // namespace sley
