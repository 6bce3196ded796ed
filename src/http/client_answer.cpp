// How the answer to a client's request comes in.
#include "http/client_exchange.hpp"
#include "http/head_scanner.hpp"

#include <sley/http/error.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace sley::http::detail {

// ---- the head ----

// All answers together, those with more to come (1xx) and the final one, have to fit into the
// limit: so this ends.
void exchange::read_head(std::error_code& error) {
  head_scanner scanner;
  std::size_t left = options_.header_bytes;
  input_buffer& input = lease_->input;
  for (;;) {
    const auto result = scanner.scan(input.text().substr(0, left));
    if (result == head_scanner::result::malformed) error = errc::malformed;
    if (result == head_scanner::result::found) {
      left -= scanner.size();
      if (parse_head(scanner.size(), error)) return;
      scanner.reset();
    } else if (!error && input.size() >= left) {
      error = errc::head_too_large;
    } else if (!error) {
      const std::size_t n = lease_->transport->read_some(input.room(), error);
      input.add(n);
      has_bytes_ = has_bytes_ || n > 0;
      if (n == 0 && !error) error = errc::incomplete;
    }
    if (error) return;
  }
}

// Returns whether it is the final one.
bool exchange::parse_head(std::size_t size, std::error_code& error) {
  input_buffer& input = lease_->input;
  const bool is_good =
      parse_response_head(input.text().substr(0, size), hop_.method == "HEAD", head_);
  input.consume(size);
  // Nobody here can ask for another protocol.
  if (!is_good || head_.status == 101) error = errc::malformed;
  if (error) return false;
  if (head_.status < 200) {
    if (head_.status == 100) may_go_on_.try_send(true);
    return false;
  }
  may_go_on_.try_send(false);
  const std::lock_guard guard(lock_);
  has_head_ = true;
  return true;
}

void exchange::fail(std::error_code& error) {
  cut();
  may_go_on_.try_send(false);
  if (sending_) sending_->receive();
  explain(error);
  let_go(false);
  if (source_failure_) std::rethrow_exception(source_failure_);
}

// What is behind an error of reading.
void exchange::explain(std::error_code& error) const noexcept {
  if (hop_.ctx.error()) {
    error = hop_.ctx.error();
  } else if (!has_bytes_ && write_error_ && write_error_ != std::errc::operation_canceled) {
    error = write_error_;
  }
}

// ---- the body ----

// RFC 9112, 6.3.
void exchange::begin_body() {
  const int status = head_.status;
  const bool has_body = hop_.method != "HEAD" && status != 204 && status != 304;
  if (!has_body) head_.body.length = 0;
  if (!has_body) head_.body.is_chunked = false;
  body_left_ = head_.body.length.value_or(0);
  body_limit_ = options_.body_bytes;
  if (head_.body.is_chunked) chunks_.emplace();
  is_body_done_ = head_.body.length == 0;
  if (is_body_done_) let_go(true);
}

std::optional<std::uint64_t> exchange::length() const noexcept { return head_.body.length; }

const fields& exchange::trailers() const noexcept {
  static const fields none;
  return chunks_ ? chunks_->trailers() : none;
}

std::size_t exchange::do_read(std::span<std::byte> buffer, std::error_code& error) {
  error = body_error_;
  if (error || is_body_done_) return 0;
  const std::uint64_t allowed = body_limit_ - std::min(body_limit_, body_read_);
  if (body_left_ > allowed) error = errc::body_too_large;
  // One byte more than is allowed tells whether there is more.
  if (allowed < buffer.size()) buffer = buffer.first(allowed + 1);
  std::size_t n = 0;
  if (!error) {
    n = chunks_             ? read_chunks(buffer, error)
        : head_.body.length ? read_known_length(buffer, error)
                            : read_to_end(buffer, error);
    if (hop_.ctx.error()) error = hop_.ctx.error();
  }
  body_read_ += n;
  if (!error && n > allowed) error = errc::body_too_large;
  body_error_ = error;
  if (error || is_body_done_) let_go(!error);
  return error ? 0 : n;
}

std::size_t exchange::read_known_length(std::span<std::byte> buffer, std::error_code& error) {
  const std::size_t n =
      read_from_peer(buffer.first(std::min<std::uint64_t>(buffer.size(), body_left_)), error);
  if (n == 0 && !error) error = errc::incomplete;
  body_left_ -= n;
  is_body_done_ = body_left_ == 0;
  return n;
}

std::size_t exchange::read_to_end(std::span<std::byte> buffer, std::error_code& error) {
  const std::size_t n = read_from_peer(buffer, error);
  is_body_done_ = n == 0 && !error;
  return n;
}

std::size_t exchange::read_chunks(std::span<std::byte> buffer, std::error_code& error) {
  input_buffer& input = lease_->input;
  for (;;) {  // ends: the sizes of chunks and the trailers have to fit into a head's room
    const chunk_decoder::progress p = chunks_->decode(input.text(), buffer, error);
    input.consume(p.consumed);
    is_body_done_ = p.is_done;
    if (error || p.is_done || p.produced > 0) return p.produced;
    if (input.size() > options_.header_bytes) error = errc::malformed;
    if (error) return 0;
    const std::size_t n = read_more(input.room(), error);
    input.add(n);
    if (n == 0 && !error) error = errc::incomplete;
    if (error) return 0;
  }
}

// What is in the input already, or what comes.
std::size_t exchange::read_from_peer(std::span<std::byte> buffer, std::error_code& error) {
  input_buffer& input = lease_->input;
  const std::size_t n = std::min(buffer.size(), input.size());
  if (n == 0) return read_more(buffer, error);
  std::memcpy(buffer.data(), input.text().data(), n);
  input.consume(n);
  return n;
}

std::size_t exchange::read_more(std::span<std::byte> buffer, std::error_code& error) {
  if (is_dropped_) {
    error = std::make_error_code(std::errc::operation_canceled);
    return 0;
  }
  if (lease_->read_deadline.move(options_.read_timeout)) {
    lease_->transport->set_read_deadline(lease_->read_deadline.when());
  }
  return lease_->transport->read_some(buffer, error);
}

}  // namespace sley::http::detail
