// The body of a message that comes in: of a request to a server, of a response to a client.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace sley::http {

// A stream that is read once, by one goroutine at a time. Its framing (Content-Length, chunks) is
// undone. Errors are the connection's and http::errc; they stay.
class SLEY_API body_reader {
 public:
  body_reader() = default;
  body_reader(const body_reader&) = delete;
  body_reader& operator=(const body_reader&) = delete;
  virtual ~body_reader();

  // Parks until there is at least one byte. 0: the end, or no room was given.
  std::size_t read_some(std::span<std::byte> buffer);
  std::size_t read_some(std::span<std::byte> buffer, std::error_code& error);
  // All that is left. More than `limit` bytes is errc::body_too_large; so is more than the body's
  // own limit, which always holds. A server answers either with 413 if it leaves the handler.
  std::string read_all(std::size_t limit = SIZE_MAX);
  std::string read_all(std::size_t limit, std::error_code& error);

  // What Content-Length says of the whole body; nullopt for chunks.
  virtual std::optional<std::uint64_t> length() const noexcept = 0;
  // How much may be read in all. Before the first read; a server sets server_options::body_bytes.
  virtual void set_limit(std::uint64_t bytes) noexcept = 0;
  // What came behind the chunks; complete once the end was read.
  virtual const fields& trailers() const noexcept = 0;

 protected:
  virtual std::size_t do_read(std::span<std::byte> buffer, std::error_code& error) = 0;
  // There is more than the caller of read_all() wants: reads fail with this error from now on.
  virtual void do_fail(const std::error_code&) noexcept {}
};

}  // namespace sley::http
