#include "http/session.hpp"

#include "http/text.hpp"

#include <sley/http/error.hpp>

#include <mutex>

#include <sys/uio.h>

namespace sley::http::detail {

namespace {

time_point now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

session::session(connection& c, const handler& h, const server_options& options)
    : connection_(c), handler_(h), options_(options), builder_(*this, c, *this), response_(*this) {}

session::~session() {
  end_context();
  connection_.close();
}

void session::run() {
  do {
    if (!read_head()) break;
    answer();
  } while (keeps_alive_ && !is_broken_);
  if (may_lose_answer_ && !is_broken_) linger();
}

// Returns whether there is a request to answer. Otherwise the connection is at its end.
bool session::read_head() {
  is_head_timed_ = false;
  if (!wait_for_head()) return false;
  const std::string_view head = input_.text().substr(0, scanner_.size());
  const int status = parse_request_head(head, options_.target_bytes, builder_, framing_);
  if (status != 0) {
    refuse(status);
    return false;
  }
  input_.consume(head.size());
  scanner_.reset();
  is_first_ = false;
  keeps_alive_ = framing_.keeps_alive;
  begin_body();
  return true;
}

bool session::wait_for_head() {
  constexpr int most_empty_lines = 4;
  int empty_lines = 0;
  for (;;) {  // ends with a head, or with a limit on what is read of one
    // Empty lines in front of a request are skipped (RFC 9112, 2.2).
    for (; input_.text().starts_with("\r\n"); ++empty_lines) {
      input_.consume(2);
      scanner_.reset();
    }
    // No further than the limit: what is refused must not depend on how the bytes come.
    const auto result = scanner_.scan(input_.text().substr(0, options_.header_bytes));
    if (result == head_scanner::result::malformed || empty_lines > most_empty_lines) {
      refuse(400);
      return false;
    }
    if (result == head_scanner::result::found) return true;
    if (input_.size() >= options_.header_bytes) {
      refuse(scanner_.has_whole_line() ? 431 : 414);
      return false;
    }
    if (!fill_for_head()) return false;
  }
}

// The deadline for a head is set once, when its first byte is there (the first one's when the
// connection is): who sends it byte by byte gains nothing.
bool session::fill_for_head() {
  const bool waits = input_.empty();
  if (waits) {
    arm_read(is_first_ ? options_.header_timeout : options_.idle_timeout);
    if (!become_idle()) return false;
  } else if (!is_head_timed_) {
    is_head_timed_ = true;
    if (!is_first_) arm_read(options_.header_timeout);
  }
  std::error_code error;
  const std::size_t n = connection_.read_some(input_.room(), error);
  if (waits && !become_busy()) return false;
  input_.add(n);
  if (error == std::errc::timed_out && !waits) refuse(408);
  return n > 0 && !error;
}

bool session::become_idle() {
  const std::lock_guard guard(lock_);
  is_idle_ = !is_finishing_;
  return is_idle_;
}

bool session::become_busy() {
  const std::lock_guard guard(lock_);
  is_idle_ = false;
  return !is_finishing_;
}

void session::finish_soon() {
  const std::lock_guard guard(lock_);
  is_finishing_ = true;
  if (is_idle_) connection_.close();
}

void session::cut() {
  const std::lock_guard guard(lock_);
  is_finishing_ = true;
  connection_.close();
}

bool session::keeps_alive() {
  const std::lock_guard guard(lock_);
  if (is_finishing_ || !can_end_body()) keeps_alive_ = false;
  return keeps_alive_;
}

// What can't be understood is answered without a handler. Nobody knows where the next request
// begins, so the connection ends.
void session::refuse(int status) {
  std::string text = std::to_string(status) + ' ' + std::string(reason_phrase(status));
  std::string answer = "HTTP/1.1 " + text + "\r\n";
  text += '\n';
  answer.append(date_line()).append("Content-Type: text/plain\r\nConnection: close\r\n");
  answer += "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  const iovec whole = {answer.data(), answer.size()};
  std::error_code error;
  write({&whole, 1}, error);
  may_lose_answer_ = true;
  builder_.clear();
  response_.begin(false);
  if (options_.access_log) log(status, {});
}

void session::arm_read(time_span timeout) {
  if (read_deadline_.move(timeout)) connection_.set_read_deadline(read_deadline_.when());
}

void session::arm_write() {
  if (write_deadline_.move(options_.write_timeout)) {
    connection_.set_write_deadline(write_deadline_.when());
  }
}

void session::write(std::span<const iovec> buffers, std::error_code& error) {
  if (is_broken_) {
    error = std::make_error_code(std::errc::broken_pipe);
    return;
  }
  arm_write();
  connection_.write_all(buffers, error);
  if (error) is_broken_ = true;
}

std::string_view session::date_line() {
  const std::time_t second = std::time(nullptr);
  if (second != date_second_) {
    date_second_ = second;
    date_line_ = "Date: " + format_date(second) + "\r\n";
  }
  return date_line_;
}

connection& session::hand_over(input_buffer& already_read) {
  stop_watching();
  std::swap(already_read, input_);
  is_handed_over_ = true;
  connection_.set_read_deadline(time_point::max());
  return connection_;
}

// A socket that is closed with unread bytes in it resets the connection, and the peer may lose the
// answer that it has not read yet. So the peer is told that this is the end, and what it still
// sends is thrown away for a while (RFC 9112, 9.6).
void session::linger() {
  constexpr std::chrono::seconds most(1);
  std::error_code error;
  connection_.shutdown_write(error);
  if (error) return;
  connection_.set_read_deadline(now() + most);
  std::byte rest[4096];
  while (connection_.read_some(rest, error) > 0 && !error) {
  }
}

}  // namespace sley::http::detail
