// Files and pipes. From Go's os.File.
#include "io/file.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/go.hpp>
#include <sley/os.hpp>

#include "io/perform.hpp"
#include "io/plain_fd.hpp"
#include "io/socket.hpp"
#include "platform/interrupt.hpp"
#include "runtime/watchdog/lasting_thread.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

namespace sley::io {

namespace {

bool is_pipe_expected() noexcept {
  const rt::machine* m = rt::this_machine();
  return m != nullptr && m->writes_to_pipe.load_relaxed();
}

}  // namespace

void expect_broken_pipes() noexcept {
  [[maybe_unused]] static const bool is_done = [] {
    platform::install_pipe_handler(&is_pipe_expected);
    return true;
  }();
}

}  // namespace sley::io

namespace sley::os {

using detail::descriptor;
using detail::io_kind;
using detail::throwing;

namespace {

io_kind kind_of(int fd, std::error_code& error) noexcept {
  struct stat status = {};
  io::is_success(io::attempt([&status](int f) { return ::fstat(f, &status); }, fd), error);
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO: return io_kind::pipe;
    case S_IFSOCK: return io_kind::message_socket;
    case S_IFCHR: return io_kind::device;
    case 0:
      return io_kind::device;  // of no file system: eventfd(2), signalfd(2), timerfd_create(2)
    default: return io_kind::regular;
  }
}

// Not every device can be waited for (/dev/null): such a one is a file.
descriptor take_over_device(int fd, std::error_code& error) noexcept {
  descriptor d(fd, io_kind::device, error);
  if (!error && d.kind() == io_kind::device) io::make_non_blocking(fd, error);
  return d;
}

descriptor take_over(int fd, std::error_code& error) noexcept {
  error.clear();
  const io_kind kind = kind_of(fd, error);
  if (error) {
    ::close(fd);
    return {};
  }
  if (kind == io_kind::regular) return {fd, kind, error};
  if (kind == io_kind::pipe) io::expect_broken_pipes();
  if (kind == io_kind::device) return take_over_device(fd, error);
  if (!io::make_non_blocking(fd, error)) {
    ::close(fd);
    return {};
  }
  return {fd, kind, error};
}

}  // namespace

namespace {

long open_by_name(const std::string& name, int flags, unsigned mode) noexcept {
  return io::attempt_uninterrupted(
      [&](int) { return ::open(name.c_str(), flags | O_CLOEXEC, mode); }, -1);
}

// In a goroutine of its own, so that the caller can give up. Then the result stays in the channel,
// which ends with that goroutine, and the descriptor with it.
long open_aside(std::string name, int flags, unsigned mode, const context& ctx,
                std::error_code& error) {
  struct outcome {
    long result = 0;
    io::plain_fd opened;
  };
  const chan<outcome> opened(1);
  go([opened, name = std::move(name), flags, mode] {
    const long result = open_by_name(name, flags, mode);
    opened.send({result, io::plain_fd(static_cast<int>(result))});
  });
  std::optional<outcome> got = opened.receive(ctx, error);
  if (!got) return 0;
  got->opened.release();
  return got->result;
}

}  // namespace

file file::open(std::string_view path, int flags, unsigned mode, const context& ctx,
                std::error_code& error) {
  if (io::has_ended(error, ctx) || detail::has_zero_byte(path, error)) return {};
  const bool is_own = !detail::can_end(ctx) || rt::has_own_thread();
  const long fd = is_own ? open_by_name(std::string(path), flags, mode)
                         : open_aside(std::string(path), flags, mode, ctx, error);
  return !error && io::is_success(fd, error) ? file(static_cast<int>(fd), error) : file();
}
file file::open(std::string_view path, int flags, unsigned mode, std::error_code& error) {
  return open(path, flags, mode, context::background(), error);
}
file file::open(std::string_view path, int flags, unsigned mode, const context& ctx) {
  std::error_code error;
  file f = open(path, flags, mode, ctx, error);
  if (error) throw detail::failed(error, "sley: open", path);
  return f;
}

file::file(int fd, std::error_code& error) noexcept : byte_stream(take_over(fd, error)) {}
file::file(int fd) {
  std::error_code error;
  *this = file(fd, error);
  if (error) detail::throw_io_error(error, "sley: take over a file");
}

std::size_t file::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                          std::error_code& error) const noexcept {
  return descriptor_.read_at(buffer, offset, error);
}
std::size_t file::read_at(std::span<std::byte> buffer, std::uint64_t offset, const context& ctx,
                          std::error_code& error) const noexcept {
  return io::has_ended(error, ctx) ? 0 : read_at(buffer, offset, error);
}
std::size_t file::read_at(std::span<std::byte> buffer, std::uint64_t offset,
                          const context& ctx) const {
  return throwing("sley: read",
                  [&](std::error_code& e) { return read_at(buffer, offset, ctx, e); });
}
std::size_t file::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                           std::error_code& error) const noexcept {
  return descriptor_.write_at(bytes, offset, error);
}
std::size_t file::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                           const context& ctx, std::error_code& error) const noexcept {
  return io::has_ended(error, ctx) ? 0 : write_at(bytes, offset, error);
}
std::size_t file::write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                           const context& ctx) const {
  return throwing("sley: write",
                  [&](std::error_code& e) { return write_at(bytes, offset, ctx, e); });
}

std::uint64_t file::size(std::error_code& error) const noexcept {
  error.clear();
  struct stat status = {};
  io::is_success(io::attempt([&status](int f) { return ::fstat(f, &status); }, native_handle()),
                 error);
  return static_cast<std::uint64_t>(status.st_size);
}
std::uint64_t file::size() const {
  return throwing("sley: size", [this](std::error_code& e) { return size(e); });
}
void file::sync(std::error_code& error) const noexcept {
  error.clear();
  io::is_success(io::attempt_uninterrupted([](int fd) { return ::fsync(fd); }, native_handle()),
                 error);
}
void file::sync() const {
  throwing("sley: sync", [this](std::error_code& e) { sync(e); });
}

pipe_ends pipe(std::error_code& error) noexcept {
  error.clear();
  int ends[2];
  const long result = io::attempt([&ends](int) { return ::pipe2(ends, O_CLOEXEC); }, -1);
  if (!io::is_success(result, error)) return {};
  pipe_ends made;
  made.reader = file(ends[0], error);
  std::error_code second;
  made.writer = file(ends[1], second);
  if (!error) error = second;
  return error ? pipe_ends() : std::move(made);
}
pipe_ends pipe() {
  return throwing("sley: pipe", [](std::error_code& e) { return pipe(e); });
}

}  // namespace sley::os
