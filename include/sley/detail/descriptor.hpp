// An open file that goroutines wait for: what sockets and pipes are made of.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/time.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace sley {
class context;
}
namespace sley::rt {
struct watched;
}

namespace sley::detail {

// Throws the error as a std::system_error with the operation's name in what().
[[noreturn]] SLEY_API void throw_io_error(const std::error_code& error, const char* operation);

// Calls f(error) and throws what it reports.
template <class F>
auto throwing(const char* operation, F f) {
  std::error_code error;
  if constexpr (std::is_void_v<decltype(f(error))>) {
    f(error);
    if (error) throw_io_error(error, operation);
  } else {
    auto result = f(error);
    if (error) throw_io_error(error, operation);
    return result;
  }
}

enum class io_kind : unsigned char {
  stream_socket,
  tcp_socket,      // with TCP_INQ, where the kernel has it: a read tells how much is left
  message_socket,  // listeners too
  pipe,
  device,    // terminals and others that can be waited for; a device that can't is `regular`
  regular,   // files that can't be waited for
  borrowed,  // another owner's, which closes it
};

// Owns a descriptor that does not block. Moved, not copied; closed with the last of it. Moving and
// destroying it while a goroutine uses it is the caller's mistake; closing it then is not.
class SLEY_API descriptor {
 public:
  descriptor() noexcept = default;
  // Takes the descriptor over, whatever comes of it: it is closed on errors, unless it is borrowed.
  descriptor(int fd, io_kind kind, std::error_code& error) noexcept;
  descriptor(descriptor&& other) noexcept
      : watched_(std::exchange(other.watched_, nullptr)), kind_(other.kind_) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(watched_, other.watched_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~descriptor();

  bool is_open() const noexcept;
  int native_handle() const noexcept;  // -1 if it was never open

  // Where there is nothing to wait for, and no position in the file is moved.
  std::size_t read_at(std::span<std::byte> buffer, std::uint64_t offset,
                      std::error_code& error) const noexcept;
  std::size_t write_at(std::span<const std::byte> bytes, std::uint64_t offset,
                       std::error_code& error) const noexcept;

  // Throws std::bad_alloc, and std::system_error where there are no deadlines.
  void set_read_deadline(instant when) const;
  void set_write_deadline(instant when) const;
  void set_context(const context& ctx) const;  // throws std::bad_alloc
  // Once. If it is given, that file is removed before.
  void close(std::error_code& error, const char* file = nullptr) noexcept;

  io_kind kind() const noexcept { return kind_; }
  rt::watched* get() const noexcept { return watched_; }

 private:
  rt::watched* watched_ = nullptr;
  io_kind kind_ = io_kind::stream_socket;
};

}  // namespace sley::detail
