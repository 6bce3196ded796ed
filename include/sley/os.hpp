// Files, pipes and descriptors of other libraries for goroutines. From Go's os.
//
// What can be waited for (pipes, terminals, devices) parks the goroutine until it is ready. Regular
// files are never "not ready": their calls are announced as blocking (see <sley/runtime.hpp>), so
// the goroutine keeps its thread and others get the processor if it takes long.
//
// Errors, threads and lifetimes are as in <sley/net.hpp>. A regular file has no deadlines:
// std::errc::operation_not_supported.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/io_object.hpp>
#include <sley/time.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace sley::os {

// Reads and writes are at the file's own position.
class SLEY_API file : public detail::byte_object {
 public:
  file() noexcept = default;
  // As open(2), with O_CLOEXEC; the flags are those of <fcntl.h>. Blocks its thread at most, as an
  // announced call. Throws std::system_error that names the path.
  static file open(std::string_view path, int flags, unsigned mode = 0666);
  static file open(std::string_view path, int flags, unsigned mode, std::error_code& error);
  // Takes over a descriptor, and makes it non-blocking if it can be waited for.
  explicit file(int fd);
  file(int fd, std::error_code& error) noexcept;

  // At a given position, any number at a time; for what has positions (pread(2), pwrite(2)).
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset) const;
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset,
                      std::error_code& error) const noexcept;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                       std::error_code& error) const noexcept;

  std::uint64_t size() const;  // throws std::system_error
  void sync() const;           // fsync(2); throws std::system_error
};

// Two ends of a pipe: what is written to the second is read from the first. A writer whose reader
// has gone gets std::errc::broken_pipe, and no signal. Throws std::system_error.
struct pipe_ends {
  file reader, writer;
};
SLEY_API pipe_ends pipe();
SLEY_API pipe_ends pipe(std::error_code& error) noexcept;

// Makes a descriptor of somebody else's something to wait for, as a C library's socket: any that
// epoll(7) takes. It stays theirs, open after close() too, and must outlive this. Several
// goroutines may wait; each waits for a turn in its direction.
class SLEY_API poll_fd : public detail::io_object {
 public:
  // Throws std::system_error: operation_not_permitted for what is always ready, as regular files.
  explicit poll_fd(int fd);
  poll_fd(int fd, std::error_code& error) noexcept;

  // Parks until it is ready; returns at once if it is, or has failed or ended.
  void wait_readable() const;
  void wait_readable(std::error_code& error) const noexcept;
  void wait_writable() const;
  void wait_writable(std::error_code& error) const noexcept;
};

}  // namespace sley::os
