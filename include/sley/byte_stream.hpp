// What all streams and files have in common: net::stream, and with it TCP and Unix streams, and
// os::file, which may be a pipe or a terminal. Code that takes a byte_stream works with all of
// them.
//
//   void greet(const sley::byte_stream& s) { s.write_all("hello\n"); }
//
// net::tls_stream has the same operations, and is no byte_stream, because there is a session
// between it and the socket. Code that takes it as well is a template, with byte_source and
// byte_sink as what it asks for. Lines and buffers for all of these are in <sley/buffered.hpp>.
// Errors, threads and lifetimes are as in <sley/net.hpp>.
#pragma once

#include <sley/context.hpp>
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

namespace sley {

class byte_stream;

namespace detail {
class readiness;
}

namespace net {
class stream;
SLEY_API std::uint64_t copy(const byte_stream& from, const byte_stream& to, std::uint64_t most,
                            const context& ctx, std::error_code& error) noexcept;
}  // namespace net

// Anything that can be waited for, with its deadlines, its context and its end: a stream, a file, a
// socket of datagrams, a listener or a poll_fd.
class SLEY_API io_object {
 public:
  // Operations that are not done at that time fail, also operations under way; time_point::max():
  // no deadline, as at first. Throws std::bad_alloc.
  void set_deadline(instant when) const;
  void set_read_deadline(instant when) const;
  void set_write_deadline(instant when) const;

  // Binds a context. From its end on all operations fail with its error, those under way too, and
  // no deadline that is set later changes that. There is one at a time: the next takes its place,
  // ended or not, and context::background() takes it away. close() takes it away as well; moving
  // the object moves it. The object holds the context until then. Bytes that came before the end
  // can be read once another is bound. A call on a regular file that is under way goes on. Throws
  // std::bad_alloc, and then none is bound.
  void set_context(const context& ctx) const;

  // Wakes all callers that use it, waits for them to let go, and closes. Once; then it does
  // nothing.
  void close();
  void close(std::error_code& error) noexcept;

  // False before it is opened, and from the beginning of close() on.
  bool is_open() const noexcept { return descriptor_.is_open(); }
  // For options: it stays the object's, and does not block. -1 if it is not open.
  int native_handle() const noexcept { return descriptor_.native_handle(); }

 protected:
  io_object() noexcept = default;
  explicit io_object(detail::descriptor d) noexcept : descriptor_(std::move(d)) {}
  io_object(io_object&&) noexcept = default;
  io_object& operator=(io_object&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~io_object();

  // close() removes that file: the name of a Unix socket.
  void own_file(std::string_view path) { file_ = std::make_unique<const std::string>(path); }
  void disown_file() noexcept { file_.reset(); }

  detail::descriptor descriptor_;

 private:
  friend class detail::readiness;

  std::unique_ptr<const std::string> file_;
};

// Something that converts to buffers; code that uses it includes <sys/uio.h>.
template <class T>
concept io_buffers = std::convertible_to<const T&, std::span<const iovec>>;

// Bytes that come and go. With a context an operation is given up when that ends, with its error;
// it looks at the context first. A read has read nothing then: the bytes wait for the next one. A
// write returns how many bytes were written.
class SLEY_API byte_stream : public io_object {
 public:
  // Parks until there are bytes. Reads at least one, at most as many as there is room for; fills
  // several buffers one after the other. 0: the end, or no room was given. Buffers may be empty,
  // and any number of any size: one call fills at most 1,024 of them, with at most 2 GiB.
  std::size_t read_some(std::span<std::byte> buffer) const {
    return detail::throwing("sley: read", [&](std::error_code& e) { return read_some(buffer, e); });
  }
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) const noexcept;
  std::size_t read_some(std::span<std::byte> buffer, const context& ctx) const {
    return detail::throwing("sley: read",
                            [&](std::error_code& e) { return read_some(buffer, ctx, e); });
  }
  std::size_t read_some(std::span<std::byte> buffer, const context& ctx,
                        std::error_code& error) const noexcept;
  std::size_t read_some(const io_buffers auto& buffers) const {
    return detail::throwing("sley: read",
                            [&](std::error_code& e) { return read_some(buffers, e); });
  }
  std::size_t read_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  std::size_t read_some(const io_buffers auto& buffers, const context& ctx) const {
    return detail::throwing("sley: read",
                            [&](std::error_code& e) { return read_some(buffers, ctx, e); });
  }
  std::size_t read_some(std::span<const iovec> buffers, const context& ctx,
                        std::error_code& error) const noexcept;

  // Parks until there is room. Writes at least one byte, if there are any, of buffers as above.
  std::size_t write_some(std::span<const std::byte> bytes) const {
    return detail::throwing("sley: write",
                            [&](std::error_code& e) { return write_some(bytes, e); });
  }
  std::size_t write_some(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  std::size_t write_some(std::span<const std::byte> bytes, const context& ctx) const {
    return detail::throwing("sley: write",
                            [&](std::error_code& e) { return write_some(bytes, ctx, e); });
  }
  std::size_t write_some(std::span<const std::byte> bytes, const context& ctx,
                         std::error_code& error) const noexcept;
  std::size_t write_some(const io_buffers auto& buffers) const {
    return detail::throwing("sley: write",
                            [&](std::error_code& e) { return write_some(buffers, e); });
  }
  std::size_t write_some(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  std::size_t write_some(const io_buffers auto& buffers, const context& ctx) const {
    return detail::throwing("sley: write",
                            [&](std::error_code& e) { return write_some(buffers, ctx, e); });
  }
  std::size_t write_some(std::span<const iovec> buffers, const context& ctx,
                         std::error_code& error) const noexcept;
  std::size_t write_some(std::string_view text) const {
    return write_some(std::as_bytes(std::span(text)));
  }
  std::size_t write_some(std::string_view text, std::error_code& error) const noexcept {
    return write_some(std::as_bytes(std::span(text)), error);
  }
  std::size_t write_some(std::string_view text, const context& ctx) const {
    return write_some(std::as_bytes(std::span(text)), ctx);
  }
  std::size_t write_some(std::string_view text, const context& ctx,
                         std::error_code& error) const noexcept {
    return write_some(std::as_bytes(std::span(text)), ctx, error);
  }

  // Writes all; no other caller's bytes come in between. Returns how many were written.
  void write_all(std::span<const std::byte> bytes) const {
    detail::throwing("sley: write", [&](std::error_code& e) { write_all(bytes, e); });
  }
  std::size_t write_all(std::span<const std::byte> bytes, std::error_code& error) const noexcept;
  void write_all(std::span<const std::byte> bytes, const context& ctx) const {
    detail::throwing("sley: write", [&](std::error_code& e) { write_all(bytes, ctx, e); });
  }
  std::size_t write_all(std::span<const std::byte> bytes, const context& ctx,
                        std::error_code& error) const noexcept;
  void write_all(const io_buffers auto& buffers) const {
    detail::throwing("sley: write", [&](std::error_code& e) { return write_all(buffers, e); });
  }
  std::size_t write_all(std::span<const iovec> buffers, std::error_code& error) const noexcept;
  void write_all(const io_buffers auto& buffers, const context& ctx) const {
    detail::throwing("sley: write", [&](std::error_code& e) { return write_all(buffers, ctx, e); });
  }
  std::size_t write_all(std::span<const iovec> buffers, const context& ctx,
                        std::error_code& error) const noexcept;
  void write_all(std::string_view text) const { write_all(std::as_bytes(std::span(text))); }
  std::size_t write_all(std::string_view text, std::error_code& error) const noexcept {
    return write_all(std::as_bytes(std::span(text)), error);
  }
  void write_all(std::string_view text, const context& ctx) const {
    write_all(std::as_bytes(std::span(text)), ctx);
  }
  std::size_t write_all(std::string_view text, const context& ctx,
                        std::error_code& error) const noexcept {
    return write_all(std::as_bytes(std::span(text)), ctx, error);
  }

 protected:
  byte_stream() noexcept = default;
  explicit byte_stream(detail::descriptor d) noexcept : io_object(std::move(d)) {}

 private:
  friend std::uint64_t net::copy(const byte_stream&, const byte_stream&, std::uint64_t,
                                 const context&, std::error_code&) noexcept;
  friend class net::stream;

  std::uint64_t send_to(const byte_stream& to, std::uint64_t offset, std::uint64_t most,
                        const context& ctx, std::error_code& error) const noexcept;
};

// A stream, or anything that bytes can be read from in the same way.
template <class T>
concept byte_source = requires(T& s, std::span<std::byte> room, std::error_code& error) {
  { s.read_some(room, error) } -> std::same_as<std::size_t>;
};

// A stream, or anything that bytes can be written to in the same way.
template <class T>
concept byte_sink = requires(T& s, std::span<const std::byte> bytes, std::error_code& error) {
  { s.write_all(bytes, error) } -> std::same_as<std::size_t>;
};

}  // namespace sley
