// The time limit of a handler. When it is over, a goroutine of the timer answers 503 if the handler
// has not begun to answer; from then on the handler writes and reads nothing more.
//
// Of the handler's goroutine and the timer's the first to take answer_lock_ decides: either the
// answer has begun, and the timer leaves the connection alone, or the time is over, and the handler
// does. So it is with a read of the body: it begins before the time is over, and then the timer
// ends it, or not at all.
#include "http/finally.hpp"
#include "http/pieces.hpp"
#include "http/session.hpp"
#include "http/text.hpp"

#include <sley/chan.hpp>
#include <sley/http/error.hpp>
#include <sley/time.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include <sys/uio.h>

namespace sley::http::detail {

void session::call_handler_in_time() {
  const time_span most = options_.handler_timeout;
  if (most == most.zero() || most == most.max()) return call_handler();
  has_begun_ = is_timed_out_ = false;
  sent_instead_ = 0;
  auto [ctx, cancel] = with_timeout(context::background(), most);
  limit_ = std::move(ctx);
  const chan<void> is_over;
  timer over = after_func(most, [this, is_over] {
    time_out();
    is_over.close();
  });
  const finally stop([&, end = cancel] {
    if (!over.stop()) is_over.receive();
    end();
    limit_.reset();
  });
  call_handler();
}

// False: the time is over, and the answer was given. [the handler's goroutine]
bool session::begin_answer() {
  if (!limit_) {
    note_first_byte();
    return true;
  }
  const std::lock_guard guard(answer_lock_);
  if (limit_->error()) answer_for_handler();  // the timer may be late
  if (is_timed_out_) return false;
  has_begun_ = true;
  note_first_byte();
  return true;
}

// Requires answer_lock_ while there is a limit.
void session::note_first_byte() noexcept {
  if (options_.access_log && !first_byte_) first_byte_ = std::chrono::steady_clock::now();
}

bool session::is_time_over() {
  if (!limit_) return false;
  const std::lock_guard guard(answer_lock_);
  return is_timed_out_;
}

void session::time_out() {
  const std::lock_guard guard(answer_lock_);
  answer_for_handler();
}

// Requires answer_lock_. Without memory for the answer, or if a connection of the program throws,
// there is none, and the connection ends.
void session::answer_for_handler() noexcept {
  if (has_begun_ || is_timed_out_) return;
  is_timed_out_ = true;
  note_first_byte();
  std::error_code error;
  try {
    connection_.set_read_deadline(time_point());  // ends a read of the body
    std::string head;
    std::string text = plain_answer(503, head);
    if (builder_.get().method() == "HEAD") text.clear();
    iovec pieces[] = {{head.data(), head.size()}, {text.data(), text.size()}};
    const std::size_t sent =
        write_in_time(connection_, write_deadline_, options_.write_timeout, pieces, error);
    sent_instead_ = sent - std::min(sent, head.size());
  } catch (const std::exception&) {
    error = std::make_error_code(std::errc::io_error);
  }
  if (error) write_error_ = error;
}

// In place of what the handler has left. The rest of its request is not wanted.
void session::end_timed_out_answer() {
  response_.begin(false);
  response_.status_ = 503;
  response_.sent_bytes_ = sent_instead_;
  keeps_alive_ = false;
  may_lose_answer_ = true;
  is_broken_ = bool(write_error_);
}

// Returns the body of an answer that closes the connection, as text.
std::string session::plain_answer(int status, std::string& head) const {
  std::string text = std::to_string(status) + ' ' + std::string(reason_phrase(status));
  head = "HTTP/1.1 " + text + "\r\nDate: " + format_date(current_second()) +
         "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: ";
  text += '\n';
  head += std::to_string(text.size()) + "\r\n\r\n";
  return text;
}

}  // namespace sley::http::detail
