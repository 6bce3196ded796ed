// The body of the request that is being answered.
#include "http/session.hpp"

#include <sley/http/error.hpp>

#include <algorithm>
#include <cstring>

#include <sys/uio.h>

namespace sley::http::detail {

namespace {

// What a handler has not read is read for it up to here; with more, a new connection is cheaper.
constexpr std::uint64_t most_skipped = 256 << 10;

}  // namespace

void session::begin_body() {
  body_left_ = framing_.length.value_or(0);
  body_read_ = 0;
  body_limit_ = options_.body_bytes;
  body_error_.clear();
  is_body_done_ = !framing_.is_chunked && body_left_ == 0;
  must_ask_ = framing_.expects_continue && !is_body_done_;
  chunks_.reset();
  if (framing_.is_chunked) chunks_.emplace();
}

std::optional<std::uint64_t> session::length() const noexcept {
  if (framing_.is_chunked) return std::nullopt;
  return framing_.length.value_or(0);
}

const fields& session::trailers() const noexcept {
  static const fields none;
  return chunks_ ? chunks_->trailers() : none;
}

std::size_t session::do_read(std::span<std::byte> buffer, std::error_code& error) {
  error = body_error_;
  if (error || is_body_done_) return 0;
  const std::uint64_t allowed = body_limit_ - std::min(body_limit_, body_read_);
  if (body_left_ > allowed) error = errc::body_too_large;
  if (!error) ask_to_continue(error);
  // One byte more than is allowed tells whether there is more.
  if (allowed < buffer.size()) buffer = buffer.first(allowed + 1);
  std::size_t n = 0;
  if (!error) n = chunks_ ? read_chunks(buffer, error) : read_known_length(buffer, error);
  body_read_ += n;
  if (is_body_done_ && context_) begin_watching();
  if (!error && n > allowed) error = errc::body_too_large;
  if (error) {
    body_error_ = error;
    keeps_alive_ = false;
  }
  return error ? 0 : n;
}

std::size_t session::read_known_length(std::span<std::byte> buffer, std::error_code& error) {
  buffer = buffer.first(std::min<std::uint64_t>(buffer.size(), body_left_));
  std::size_t n = std::min(buffer.size(), input_.size());
  if (n > 0) {
    std::memcpy(buffer.data(), input_.text().data(), n);
    input_.consume(n);
  } else {
    n = read_from_peer(buffer, error);
  }
  body_left_ -= n;
  is_body_done_ = body_left_ == 0;
  return n;
}

std::size_t session::read_chunks(std::span<std::byte> buffer, std::error_code& error) {
  for (;;) {  // ends: the sizes of chunks and the trailers have to fit into a head's room
    const chunk_decoder::progress p = chunks_->decode(input_.text(), buffer, error);
    input_.consume(p.consumed);
    is_body_done_ = p.is_done;
    if (error || p.is_done || p.produced > 0) return p.produced;
    if (input_.size() > options_.header_bytes) error = errc::malformed;
    if (error) return 0;
    input_.add(read_from_peer(input_.room(), error));
    if (error) return 0;
  }
}

// At least one byte, or an error.
std::size_t session::read_from_peer(std::span<std::byte> buffer, std::error_code& error) {
  arm_read(options_.read_timeout);
  const std::size_t n = connection_.read_some(buffer, error);
  if (n == 0 && !error) error = errc::incomplete;
  return n;
}

void session::ask_to_continue(std::error_code& error) {
  if (!must_ask_) return;
  must_ask_ = false;
  // After the head of the answer it would be taken for a part of it; the client has stopped
  // waiting.
  if (response_.is_head_sent()) return;
  static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
  const iovec whole = {const_cast<char*>(text.data()), text.size()};
  write({&whole, 1}, error);
}

// Can what is left be read away, so that the next request comes into sight? A client that still
// waits for "100 Continue" may send its body or not.
bool session::can_end_body() const noexcept {
  return is_body_done_ || (!must_ask_ && !body_error_ && body_left_ <= most_skipped);
}

void session::end_body() {
  std::byte rest[4096];
  std::uint64_t skipped = 0;
  while (keeps_alive_ && !is_body_done_) {  // ends: `skipped` grows, or the body ends in an error
    std::error_code error;
    body_limit_ = UINT64_MAX;
    skipped += do_read(rest, error);
    if (skipped > most_skipped) keeps_alive_ = false;
  }
  if (!is_body_done_ || (!keeps_alive_ && !input_.empty())) may_lose_answer_ = true;
}

}  // namespace sley::http::detail
