// How the answer to a client's request comes in.
#include "http/client_exchange.hpp"
#include "http/head_scanner.hpp"

#include <sley/http/error.hpp>

#include <mutex>

namespace sley::http::detail {

// ---- the head ----

// All heads together, of interim answers (1xx) and of the final one, have to fit into the limit: so
// this ends.
void exchange::read_head(std::error_code& error) {
  head_scanner scanner(head_scanner::folds::taken);
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
  // This client can't change to another protocol.
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
  body_.begin(head_.body, options_.body_bytes, options_.header_bytes);
  if (body_.is_done()) return let_go(true);
  if (asks_for_gzip(hop_, options_)) begin_unpacking();
}

// From Go's persistConn.readLoop.
void exchange::begin_unpacking() {
  const auto codings = head_.headers.all("Content-Encoding");
  if (codings.size() != 1 || !equals_ignoring_case(codings[0], "gzip")) return;
  unpacked_ = std::make_unique<unpacked_body>(options_.body_bytes);
  set_limit(options_.body_bytes);
  head_.headers.erase("Content-Encoding");
  head_.headers.erase("Content-Length");
}

std::optional<std::uint64_t> exchange::length() const noexcept {
  return unpacked_ ? std::nullopt : body_.length();
}

void exchange::set_limit(std::uint64_t bytes) noexcept {
  if (unpacked_) unpacked_->set_limit(bytes);
  body_.set_limit(unpacked_ ? unpacked_body::packed_limit(bytes) : bytes);
}

std::size_t exchange::do_read(std::span<std::byte> buffer, std::error_code& error) {
  if (!unpacked_) return read_body(buffer, error);
  return unpacked_->read(buffer, error, [this](auto room, auto& e) { return read_body(room, e); });
}

void exchange::do_fail(const std::error_code& error) noexcept {
  body_.end_read(error);
  if (unpacked_) unpacked_->fail(error);
  let_go(false);
}

// As it comes.
std::size_t exchange::read_body(std::span<std::byte> buffer, std::error_code& error) {
  std::size_t n = 0;
  if (body_.begin_read(error)) {
    n = body_.read(lease_->input, buffer, error,
                   [this](auto room, auto& e) { return read_from_peer(room, e); });
    if (hop_.ctx.error()) error = hop_.ctx.error();
    body_.end_read(error);
  }
  if (error || body_.is_done()) let_go(!error);
  return error ? 0 : n;
}

std::size_t exchange::read_from_peer(std::span<std::byte> buffer, std::error_code& error) {
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
