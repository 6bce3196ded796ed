// The body of a message that comes in. A server's session or a client's exchange reads it.
#pragma once

#include "http/input_buffer.hpp"
#include "http/parser.hpp"

#include <sley/http/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <system_error>

namespace sley::http::detail {

// Undoes the framing and keeps to the limits. Those count what comes over the wire: chunks may have
// framing in proportion to what they carry, and all of it no more than as much again as the limit.
// A read has three steps, between which the reader does its own work: begin_read(), read(),
// end_read(). An error stays.
class incoming_body {
 public:
  // Takes what comes next from the peer, as connection::read_some.
  using source = std::function<std::size_t(std::span<std::byte>, std::error_code&)>;

  // With neither chunks nor a length the body goes on until the stream ends. Each chunk's size,
  // and the trailers with the last one, have to fit into `line_bytes`.
  void begin(const framing& f, std::uint64_t limit, std::size_t line_bytes);

  // Whether there is anything to read. If there is not, and no error either, this was the end.
  [[nodiscard]] bool begin_read(std::error_code& error) noexcept;
  // At least one byte; 0: the end, or an error. Takes from the input first.
  std::size_t read(input_buffer& input, std::span<std::byte> buffer, std::error_code& error,
                   const source& more);
  void end_read(const std::error_code& error) noexcept { error_ = error; }

  bool is_done() const noexcept { return is_done_; }
  const std::error_code& error() const noexcept { return error_; }
  std::optional<std::uint64_t> length() const noexcept { return length_; }
  // What is known to come; 0 for chunks.
  std::uint64_t left() const noexcept { return left_; }
  void set_limit(std::uint64_t bytes) noexcept { limit_ = bytes; }
  // The limit is for what comes over the wire from now on, whatever it carries.
  void skip_at_most(std::uint64_t bytes) noexcept;
  // Of a body that is read no more.
  void release() noexcept { chunks_.reset(); }
  const fields& trailers() const noexcept;

 private:
  std::uint64_t allowed() const noexcept { return limit_ > read_ ? limit_ - read_ : 0; }
  std::uint64_t most_on_wire() const noexcept;
  std::uint64_t slack() const noexcept;
  bool is_mostly_framing() const noexcept;
  std::size_t read_chunks(input_buffer& input, std::span<std::byte> buffer, std::error_code& error,
                          const source& more);

  std::optional<std::uint64_t> length_;
  std::uint64_t left_ = 0;
  std::uint64_t read_ = 0;  // of what it carries
  std::uint64_t wire_ = 0;  // as it came, with the sizes of chunks and the trailers
  std::uint64_t limit_ = 0;
  std::optional<std::uint64_t> wire_limit_;  // of skip_at_most()
  std::size_t line_bytes_ = 0;
  bool is_done_ = true;
  std::error_code error_;
  std::optional<chunk_decoder> chunks_;
};

}  // namespace sley::http::detail
