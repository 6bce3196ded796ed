// Bytes from one descriptor to another without a way through our memory, where the kernel can do
// that. From Go's internal/poll: SendFile and Splice.
//
// A copy holds the write side of where it writes to from its beginning to its end, and the read
// side of where it reads, which it takes first. All copies take them in that order, so they do not
// wait for each other in a circle.
#include <sley/net.hpp>
#include <sley/os.hpp>

#include "io/file.hpp"
#include "io/perform.hpp"
#include "io/put.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace sley::io {

namespace {

using detail::descriptor;
using detail::io_kind;
using copy_lock = side_lock<context>;

constexpr std::uint64_t longest_step = 4
                                       << 20;  // closing and deadlines are looked at between steps

// One copy under way.
struct copying {
  rt::watched* from;
  rt::watched* to;
  io_kind to_kind;
  copy_lock* reading;  // null: positions are given, no side is held
  copy_lock& writing;
  std::uint64_t left;
  std::error_code& error;
  std::uint64_t done = 0;

  std::size_t step() const noexcept {
    return static_cast<std::size_t>(std::min(left, longest_step));
  }
  bool may_go_on(rt::watched* w, rt::io_side& side) const noexcept {
    rt::enter();
    rt::io_result result = rt::state_of_io(w, side);
    rt::leave();
    if (result == rt::io_result::ready) result = writing.context_end();
    if (result != rt::io_result::ready) error = error_of(result);
    return result == rt::io_result::ready;
  }
  // `n` bytes are copied. True if there is more to do.
  bool advance(long n) noexcept {
    done += static_cast<std::uint64_t>(n);
    left -= static_cast<std::uint64_t>(n);
    return left != 0 && may_go_on(to, to->writing) && may_go_on(from, from->reading);
  }
  // The kernel can't copy between these two, or a sandbox forbids it; nothing is copied yet.
  bool is_refused() const noexcept {
    return done == 0 &&
           (error == std::errc::invalid_argument || error == std::errc::function_not_supported ||
            error == std::errc::operation_not_supported ||
            error == std::errc::operation_not_permitted);
  }
};

// From a regular file, whose pages may have to be fetched: it blocks the thread.
void send_pages(copying& c, off_t* offset) {
  long n;
  do {  // ends with the file, by an error, or when all is copied
    n = call_with_side(
        c.writing, c.to,
        [&](int fd) {
          const broken_pipe_expected guard;
          return ::sendfile(fd, c.from->fd, offset, c.step());
        },
        c.error, true);
  } while (n > 0 && c.advance(n));
}

// A pipe of our own, which is empty between two steps.
class transit {
 public:
  explicit transit(std::error_code& error) noexcept {
    is_success(attempt([this](int flags) { return ::pipe2(ends_, flags); }, O_CLOEXEC | O_NONBLOCK),
               error);
  }
  ~transit() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  transit(const transit&) = delete;
  transit& operator=(const transit&) = delete;
  int out() const noexcept { return ends_[0]; }
  int in() const noexcept { return ends_[1]; }

 private:
  int ends_[2] = {-1, -1};
};

// Between sockets and pipes.
void move_pages(copying& c) {
  const transit pipe(c.error);
  if (c.error) return;
  constexpr unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
  for (;;) {  // ends at the end, by an error, or when all is copied
    const long taken = call_with_side(
        *c.reading, c.from,
        [&](int fd) { return ::splice(fd, nullptr, pipe.in(), nullptr, c.step(), flags); },
        c.error);
    if (taken <= 0) return;
    for (long n = 0, left = taken; left != 0; left -= n) {
      n = call_with_side(
          c.writing, c.to,
          [&](int fd) {
            const broken_pipe_expected guard;
            return ::splice(pipe.out(), nullptr, fd, nullptr, static_cast<std::size_t>(left),
                            flags);
          },
          c.error);
      if (n <= 0 || (!c.advance(n) && c.error)) return;
    }
    if (c.left == 0) return;
  }
}

bool put_all(copying& c, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const iovec whole = {bytes.data(), bytes.size()};
    const long n = call_with_side(c.writing, c.to, putting{{&whole, 1}, c.to_kind}, c.error);
    if (n == 0) c.error = std::make_error_code(std::errc::io_error);  // or it would never end
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    if (!c.advance(n) && c.error) return false;
  }
  return true;
}

// Between any two. `read(buffer)` returns how many bytes it has read, 0 at the end, less on errors.
template <class Read>
void move_bytes(copying& c, const Read& read) {
  std::array<std::byte, 16 * 1024> buffer;
  while (c.left != 0) {
    const long n = read(std::span(buffer).first(std::min(buffer.size(), c.step())));
    if (n <= 0 || !put_all(c, std::span(buffer).first(static_cast<std::size_t>(n)))) return;
  }
}

bool is_spliced(io_kind kind) noexcept { return is_stream_socket(kind) || kind == io_kind::pipe; }

}  // namespace

std::uint64_t copy(const descriptor& from, const descriptor& to, std::uint64_t most,
                   const context& ctx, std::error_code& error) noexcept {
  if (has_ended(error, ctx)) return 0;
  if (refuse(from.get(), error) || refuse(to.get(), error) || most == 0) return 0;
  expect_broken_pipes();
  copy_lock reading(from.get(), from.get()->reading, ctx);
  reading.more_to_come();
  if (reading.result() != rt::io_result::ready) {
    error = error_of(reading.result());
    return 0;
  }
  copy_lock writing(to.get(), to.get()->writing, ctx);
  writing.more_to_come();
  copying c = {from.get(), to.get(), to.kind(), &reading, writing, most, error};
  const bool is_file = from.kind() == io_kind::regular;
  const bool is_moved = is_file || (is_spliced(from.kind()) && is_spliced(to.kind()));
  if (is_file) send_pages(c, nullptr);
  if (!is_file && is_moved) move_pages(c);
  if (is_moved && !c.is_refused()) return c.done;
  error.clear();
  move_bytes(c, [&](std::span<std::byte> buffer) {
    return call_with_side(
        reading, c.from,
        [&](int fd) { return platform::kernel::read(fd, buffer.data(), buffer.size()); }, error);
  });
  return c.done;
}

namespace {

std::uint64_t send(const descriptor& from, off_t offset, const descriptor& to, std::uint64_t most,
                   const context& ctx, std::error_code& error) noexcept {
  copy_lock writing(to.get(), to.get()->writing, ctx);
  writing.more_to_come();
  copying c = {from.get(), to.get(), to.kind(), nullptr, writing, most, error};
  send_pages(c, &offset);
  if (!c.is_refused()) return c.done;
  error.clear();
  move_bytes(c, [&](std::span<std::byte> buffer) {
    const auto at = static_cast<std::uint64_t>(offset) + c.done;
    const long n = attempt_uninterrupted(
        [&](int fd) {
          return platform::kernel::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(at));
        },
        c.from->fd);
    is_success(n, error);
    return n;
  });
  return c.done;
}

}  // namespace

std::uint64_t send_file(const descriptor& from, std::uint64_t offset, const descriptor& to,
                        std::uint64_t most, const context& ctx, std::error_code& error) noexcept {
  if (has_ended(error, ctx)) return 0;
  if (refuse(from.get(), error) || refuse(to.get(), error) || most == 0) return 0;
  expect_broken_pipes();
  rt::enter();
  const rt::io_result begun = rt::begin_use(from.get());
  rt::leave();
  if (begun != rt::io_result::ready) {
    error = error_of(begun);
    return 0;
  }
  const std::uint64_t sent = send(from, static_cast<off_t>(offset), to, most, ctx, error);
  rt::enter();
  rt::end_use(from.get());
  rt::leave();
  return sent;
}

}  // namespace sley::io

namespace sley {

using detail::throwing;

std::uint64_t net::copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                        const context& ctx, std::error_code& error) noexcept {
  return io::copy(from.descriptor_, to.descriptor_, most, ctx, error);
}
std::uint64_t net::copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                        std::error_code& error) noexcept {
  return copy(from, to, most, context::background(), error);
}
std::uint64_t net::copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                        const context& ctx) {
  return throwing("sley: copy", [&](std::error_code& e) { return copy(from, to, most, ctx, e); });
}

std::uint64_t byte_stream::send_to(const byte_stream& to, std::uint64_t offset, std::uint64_t most,
                                   const context& ctx, std::error_code& error) const noexcept {
  return io::send_file(descriptor_, offset, to.descriptor_, most, ctx, error);
}

std::uint64_t net::stream::send_file(const os::file& from, std::uint64_t offset,
                                     std::uint64_t count, const context& ctx,
                                     std::error_code& error) const noexcept {
  return static_cast<const byte_stream&>(from).send_to(*this, offset, count, ctx, error);
}
std::uint64_t net::stream::send_file(const os::file& from, std::uint64_t offset,
                                     std::uint64_t count, std::error_code& error) const noexcept {
  return send_file(from, offset, count, context::background(), error);
}
std::uint64_t net::stream::send_file(const os::file& from, std::uint64_t offset,
                                     std::uint64_t count, const context& ctx) const {
  return throwing("sley: send_file",
                  [&](std::error_code& e) { return send_file(from, offset, count, ctx, e); });
}

}  // namespace sley
