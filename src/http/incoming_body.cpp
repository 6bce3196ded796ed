#include "http/incoming_body.hpp"

#include <sley/http/error.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sley::http::detail {

namespace {

// What is in the input already, or what comes.
std::size_t take(input_buffer& input, std::span<std::byte> buffer, std::error_code& error,
                 const incoming_body::source& more) {
  const std::size_t n = std::min(buffer.size(), input.size());
  if (n == 0) return more(buffer, error);
  std::memcpy(buffer.data(), input.text().data(), n);
  input.consume(n);
  return n;
}

}  // namespace

void incoming_body::begin(const framing& f, std::uint64_t limit, std::size_t line_bytes) {
  length_ = f.length;
  left_ = f.length.value_or(0);
  read_ = 0;
  wire_ = 0;
  limit_ = limit;
  wire_limit_.reset();
  line_bytes_ = line_bytes;
  is_done_ = f.length == 0;
  error_.clear();
  chunks_.reset();
  if (f.is_chunked) chunks_.emplace();
}

void incoming_body::skip_at_most(std::uint64_t bytes) noexcept {
  limit_ = UINT64_MAX;
  wire_limit_ = wire_ + bytes;
}

// The trailers, and chunks' sizes in a body that is short.
std::uint64_t incoming_body::slack() const noexcept { return line_bytes_ + (16 << 10); }

std::uint64_t incoming_body::most_on_wire() const noexcept {
  if (wire_limit_) return *wire_limit_;
  return limit_ <= (UINT64_MAX - slack()) / 2 ? 2 * limit_ + slack() : UINT64_MAX;
}

// Chunks of one byte, with the shortest size there is, take five bytes of framing each.
bool incoming_body::is_mostly_framing() const noexcept {
  return wire_ - read_ > slack() && (wire_ - read_ - slack()) / 8 > read_;
}

bool incoming_body::begin_read(std::error_code& error) noexcept {
  if (!error_ && left_ > allowed()) error_ = errc::body_too_large;
  error = error_;
  return !error && !is_done_;
}

std::size_t incoming_body::read(input_buffer& input, std::span<std::byte> buffer,
                                std::error_code& error, const source& more) {
  // One byte more than is allowed tells whether there is more.
  const std::uint64_t most = allowed();
  if (most < buffer.size()) buffer = buffer.first(most + 1);
  std::size_t n = 0;
  if (chunks_) {
    n = read_chunks(input, buffer, error, more);
  } else if (!length_) {
    n = take(input, buffer, error, more);
    is_done_ = n == 0 && !error;
  } else {
    n = take(input, buffer.first(std::min<std::uint64_t>(buffer.size(), left_)), error, more);
    if (n == 0 && !error) error = errc::incomplete;
    left_ -= n;
    is_done_ = left_ == 0;
  }
  read_ += n;
  if (!chunks_) wire_ += n;
  if (!error && n > most) error = errc::body_too_large;
  if (!error && !wire_limit_ && is_mostly_framing()) error = errc::malformed;
  return error ? 0 : n;
}

std::size_t incoming_body::read_chunks(input_buffer& input, std::span<std::byte> buffer,
                                       std::error_code& error, const source& more) {
  for (;;) {  // ends: each round consumes something, or what cannot be consumed grows to its limit
    // No further than the limits: what is refused must not depend on how the bytes come.
    const std::uint64_t left = most_on_wire() - std::min(wire_, most_on_wire());
    const std::string_view text =
        input.text().substr(0, std::min<std::uint64_t>(line_bytes_, left));
    const chunk_decoder::progress p = chunks_->decode(text, buffer, error);
    input.consume(p.consumed);
    wire_ += p.consumed;
    is_done_ = p.is_done;
    if (error || p.is_done || p.produced > 0) return p.produced;
    if (p.consumed > 0) continue;
    if (text.size() == line_bytes_) error = errc::malformed;
    if (text.size() == left) error = errc::body_too_large;
    if (error) return 0;
    const std::size_t n = more(input.room(), error);
    input.add(n);
    if (n == 0 && !error) error = errc::incomplete;
    if (error) return 0;
  }
}

const fields& incoming_body::trailers() const noexcept {
  static const fields none;
  return chunks_ ? chunks_->trailers() : none;
}

}  // namespace sley::http::detail
