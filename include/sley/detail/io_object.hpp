// The common part of all objects that goroutines read, write and wait for.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/detail/descriptor.hpp>
#include <sley/time.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

struct iovec;  // of <sys/uio.h>

namespace sley::detail {

// The descriptor with its deadlines and its end.
class SLEY_API io_object {
 public:
  // Operations that are not done at that time fail, also operations under way; time_point::max():
  // no deadline, as at first. Throws std::bad_alloc.
  void set_deadline(instant when) const;
  void set_read_deadline(instant when) const;
  void set_write_deadline(instant when) const;

  // Wakes all callers that use it, waits for them to let go, and closes. Once; then it does
  // nothing.
  void close();
  void close(std::error_code& error) noexcept;

  bool is_open() const noexcept { return descriptor_.is_open(); }
  // For options: it stays the object's, and does not block. -1 if it is not open.
  int native_handle() const noexcept { return descriptor_.native_handle(); }

 protected:
  io_object() noexcept = default;
  explicit io_object(descriptor d) noexcept : descriptor_(std::move(d)) {}
  io_object(io_object&&) noexcept = default;
  io_object& operator=(io_object&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~io_object();

  // close() removes that file: the name of a Unix socket.
  void own_file(std::string_view path) { file_ = std::make_unique<const std::string>(path); }

  descriptor descriptor_;

 private:
  std::unique_ptr<const std::string> file_;
};

// Something that converts to buffers; code that uses it includes <sys/uio.h>.
template <class T>
concept io_buffers = std::convertible_to<const T&, std::span<const iovec>>;

// Bytes that come and go.
class SLEY_API byte_object : public io_object {
 public:
  // Parks until there are bytes. Reads at least one, at most as many as there is room for; fills
  // several buffers one after the other. 0: the end, or no room was given. Buffers may be empty,
  // and any number of any size: one call fills at most 1,024 of them, with at most 2 GiB.
  std::size_t read_some(std::span<std::byte> buffer) const {
    return throwing("sley: read", [&](std::error_code& e) { return read_some(buffer, e); });
  }
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  std::size_t read_some(const io_buffers auto& buffers) const {
    return throwing("sley: read", [&](std::error_code& e) { return read_some(buffers, e); });
  }
  std::size_t read_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;

  // Parks until there is room. Writes at least one byte, if there are any, of buffers as above.
  std::size_t write_some(std::span<const std::byte> bytes) const {
    return throwing("sley: write", [&](std::error_code& e) { return write_some(bytes, e); });
  }
  std::size_t write_some(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  std::size_t write_some(const io_buffers auto& buffers) const {
    return throwing("sley: write", [&](std::error_code& e) { return write_some(buffers, e); });
  }
  std::size_t write_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;

  // Writes all; no other caller's bytes come in between. Returns how many were written.
  void write_all(std::span<const std::byte> bytes) const {
    throwing("sley: write", [&](std::error_code& e) { write_all(bytes, e); });
  }
  std::size_t write_all(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  void write_all(const io_buffers auto& buffers) const {
    throwing("sley: write", [&](std::error_code& e) { return write_all(buffers, e); });
  }
  std::size_t write_all(std::span<const iovec> buffers, std::error_code& error) const noexcept;

  // What net::copy() and net::stream::send_file() are made of.
  std::uint64_t copy_to(const byte_object& to, std::uint64_t most,
                        std::error_code& error) const noexcept;
  std::uint64_t send_to(const byte_object& to, std::uint64_t offset, std::uint64_t most,
                        std::error_code& error) const noexcept;

 protected:
  byte_object() noexcept = default;
  explicit byte_object(descriptor d) noexcept : io_object(std::move(d)) {}
};

}  // namespace sley::detail
