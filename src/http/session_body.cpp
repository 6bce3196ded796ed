// The body of the request that is being answered.
#include "http/session.hpp"

#include <mutex>

#include <sys/uio.h>

namespace sley::http::detail {

namespace {

// What a handler has not read is read for it up to here; with more, a new connection is cheaper.
constexpr std::uint64_t most_skipped = 256 << 10;

}  // namespace

void session::begin_body() {
  if (!framing_.is_chunked && !framing_.length) framing_.length = 0;
  body_.begin(framing_, options_.body_bytes, options_.header_bytes);
  must_ask_ = framing_.expects_continue && !body_.is_done();
}

std::size_t session::do_read(std::span<std::byte> buffer, std::error_code& error) {
  if (is_time_over()) {
    error = std::make_error_code(std::errc::timed_out);
    return 0;
  }
  std::size_t n = 0;
  if (body_.begin_read(error)) {
    ask_to_continue(error);
    if (!error) {
      n = body_.read(input_, buffer, error,
                     [this](auto room, auto& e) { return read_from_peer(room, e); });
    }
    body_.end_read(error);
    if (body_.is_done() && context_) begin_watching();
  }
  if (error) keeps_alive_ = false;
  return n;
}

void session::do_fail(const std::error_code& error) noexcept {
  body_.end_read(error);
  keeps_alive_ = false;
}

std::size_t session::read_from_peer(std::span<std::byte> buffer, std::error_code& error) {
  if (!begin_body_read(error)) return 0;
  return connection_.read_some(buffer, error);
}

// False: the handler's time is over. The deadline that the timer sets then must be the last.
bool session::begin_body_read(std::error_code& error) {
  if (!limit_) {
    arm_read(options_.read_timeout);
    return true;
  }
  const std::lock_guard guard(answer_lock_);
  if (is_timed_out_) {
    error = std::make_error_code(std::errc::timed_out);
  } else {
    arm_read(options_.read_timeout);
  }
  return !is_timed_out_;
}

void session::ask_to_continue(std::error_code& error) {
  if (!must_ask_) return;
  must_ask_ = false;
  // After the head of the answer it would be taken for a part of it; the client has stopped
  // waiting.
  if (response_.is_head_sent()) return;
  static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
  iovec whole = {const_cast<char*>(text.data()), text.size()};
  const std::lock_guard guard(answer_lock_);  // it is no answer, and the timer's may come meanwhile
  if (is_timed_out_) {
    error = std::make_error_code(std::errc::timed_out);
  } else {
    write_now({&whole, 1}, error);
  }
}

// Can what is left be read away, so that the next request comes into sight? A client that still
// waits for "100 Continue" may send its body or not.
bool session::can_end_body() const noexcept {
  return body_.is_done() || (!must_ask_ && !body_.error() && body_.left() <= most_skipped);
}

void session::end_body() {
  std::byte rest[4096];
  body_.skip_at_most(most_skipped);
  while (keeps_alive_ && !body_.is_done()) {  // ends with the body, or an error, as at the limit
    std::error_code error;
    do_read(rest, error);
  }
  if (!body_.is_done() || (!keeps_alive_ && !input_.empty())) may_lose_answer_ = true;
}

}  // namespace sley::http::detail
