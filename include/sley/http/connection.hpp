// What HTTP runs over: TCP, TLS, or bytes in memory.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/detail/needs_http.hpp>
#include <sley/net.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <system_error>

namespace sley::http {

// A stream of bytes both ways, with the meaning of net::stream: calls park, deadlines fail them
// with std::errc::timed_out. One goroutine reads and one writes at a time; close() comes from
// anywhere, at any time, and ends both.
class SLEY_API connection {
 public:
  connection() = default;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  virtual ~connection();

  // At least one byte; 0: the end of the stream.
  virtual std::size_t read_some(std::span<std::byte> buffer, std::error_code& error) = 0;
  // Writes all.
  virtual void write_all(std::span<const iovec> buffers, std::error_code& error) = 0;
  // Writes at least one byte, if there are any. Returns how many were taken, after an error too.
  // HTTP writes with this, so that its time limit counts from the last progress. A connection that
  // does not override it writes 64 KiB at a time by write_all().
  virtual std::size_t write_some(std::span<const iovec> buffers, std::error_code& error);
  // As net::stream's.
  virtual void set_read_deadline(time_point when) = 0;
  virtual void set_write_deadline(time_point when) = 0;
  // As net::stream's: from the end of the context on all calls fail with its error, those under way
  // too. Throws std::system_error: std::errc::operation_not_supported unless it is overridden.
  virtual void set_context(const context& ctx);
  // The peer reads the end; reading goes on. TLS says its farewell here.
  virtual void shutdown_write(std::error_code& error) = 0;
  // Ends what waits, and closes.
  virtual void close() noexcept = 0;
  // As close(), of a message that is not complete: the peer must not take the end for the message's
  // own. TCP is reset, TLS says no farewell. May come from anywhere. By default as close().
  virtual void abort() noexcept { close(); }
  // The two ends, and whether what is between them is encrypted.
  virtual net::endpoint remote() const = 0;
  virtual net::endpoint local() const = 0;
  virtual bool is_encrypted() const noexcept { return false; }
};

// Owns a connection.
using connection_ptr = std::unique_ptr<connection>;

// HTTP over this stream, as it is.
SLEY_API connection_ptr make_connection(net::tcp_stream stream);
SLEY_API connection_ptr make_connection(net::unix_stream stream);

}  // namespace sley::http
