#include "http/session.hpp"

#include "http/pieces.hpp"
#include "http/text.hpp"

#include <sley/http/error.hpp>

#include <sley/detail/deadline.hpp>
#include <sley/go.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

#include <sys/uio.h>

namespace sley::http::detail {

namespace {

// A connection that the server ends after an answer waits this long for the client to end it as
// well: a request may be on its way.
constexpr std::chrono::milliseconds last_wait(50);

time_point now() noexcept { return std::chrono::steady_clock::now(); }

}  // namespace

session::session(connection& c, const handler& h, const server_options& options)
    : connection_(c), handler_(h), options_(options), builder_(*this, c, *this), response_(*this) {}

session::~session() {
  end_context();
  if (must_abort()) {
    connection_.abort();
  } else {
    connection_.close();
  }
}

void session::run() {
  do {
    if (!read_head()) break;
    answer();
  } while (keeps_alive_ && !is_broken_);
  const bool is_our_end = framing_.keeps_alive && !keeps_alive_;
  if (is_broken_) return;
  if (may_lose_answer_) {
    linger(std::chrono::seconds(1));
  } else if (is_our_end) {
    linger(last_wait);
  }
}

// An answer of which a part is missing.
bool session::is_cut() const noexcept {
  return response_.is_head_sent() && !response_.is_complete();
}

// With a length or chunks the peer sees that something is missing, and can use what it has got. A
// peer that takes nothing is not worth keeping its answer for.
bool session::must_abort() const noexcept {
  if (write_error_ == std::errc::timed_out) return true;
  return is_cut() && (response_.is_open_ended() || connection_.is_encrypted());
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
// connection is): a client that sends it byte by byte gains nothing.
bool session::fill_for_head() {
  const bool waits = input_.empty();
  if (waits) {
    if (!is_first_) release_memory();
    arm_read(is_first_ ? options_.header_timeout : options_.idle_timeout);
    become_idle();
  } else if (!is_head_timed_) {
    is_head_timed_ = true;
    if (!is_first_) arm_read(options_.header_timeout);
  }
  std::error_code error;
  std::size_t n = connection_.read_some(input_.room(), error);
  if (waits && error == std::errc::timed_out && begin_second_half()) {
    error.clear();
    n = connection_.read_some(input_.room(), error);
  }
  if (waits) become_busy();
  input_.add(n);
  if (error == std::errc::timed_out && !waits) refuse(408);
  return n > 0 && !error;
}

void session::become_idle() {
  const std::lock_guard guard(lock_);
  is_idle_ = true;
  if (is_finishing_) arm_last_wait();
}

void session::become_busy() {
  const std::lock_guard guard(lock_);
  is_idle_ = false;
  if (is_finishing_) read_deadline_.set(time_point());  // the connection's is arm_last_wait()'s
}

// Under the lock. A request may be on its way when the server is shut down. It is waited for in two
// halves: a process that had no CPU for a while finds the first one over before it has looked, and
// all that has come by then is read in the second.
void session::arm_last_wait() {
  connection_.set_read_deadline(sley::detail::time_in(options_.last_request_timeout / 2));
}

// A wait for a request has timed out. True: it was the last wait's, which goes on.
bool session::begin_second_half() {
  const std::lock_guard guard(lock_);
  if (is_finishing_) arm_last_wait();
  return is_finishing_;
}

void session::finish_soon() {
  const std::lock_guard guard(lock_);
  if (is_finishing_) return;
  is_finishing_ = true;
  if (is_idle_) arm_last_wait();
  if (is_handed_over_) cancel_();
  if (on_finish_) on_finish_();
}

void session::on_finish(std::function<void()> f) {
  const std::lock_guard guard(lock_);
  on_finish_ = std::move(f);
  if (is_finishing_ && on_finish_) on_finish_();
}

void session::cut() {
  const std::lock_guard guard(lock_);
  is_finishing_ = true;
  if (is_open_ended_) {
    connection_.abort();
  } else {
    connection_.close();
  }
}

void session::set_open_ended(bool is_open_ended) {
  const std::lock_guard guard(lock_);
  is_open_ended_ = is_open_ended;
}

// What an idle connection keeps is bounded, however large its requests and answers were.
void session::release_memory() noexcept {
  input_.release();
  builder_.release();
  response_.release();
  body_.release();
}

bool session::keeps_alive() {
  const std::lock_guard guard(lock_);
  if (is_finishing_ || !can_end_body()) keeps_alive_ = false;
  return keeps_alive_;
}

// A request that can't be understood is answered without a handler. Where the next request begins
// is unknown, so the connection ends.
void session::refuse(int status) {
  std::string answer;
  const std::string text = plain_answer(status, answer);
  const std::size_t head_bytes = answer.size();
  answer += text;
  iovec whole = {answer.data(), answer.size()};
  std::error_code error;
  const std::size_t sent = write({&whole, 1}, error);
  may_lose_answer_ = true;
  builder_.clear();
  response_.begin(false);
  count_refusal(counts_, status);
  if (write_error_ == std::errc::timed_out) report_cut();
  if (options_.access_log) log(status, sent - std::min(sent, head_bytes), {}, {});
}

void session::arm_read(time_span timeout) {
  if (read_deadline_.move(timeout)) connection_.set_read_deadline(read_deadline_.when());
}

std::size_t session::write(std::span<iovec> pieces, std::error_code& error) {
  if (is_broken_) {
    error = std::make_error_code(std::errc::broken_pipe);
    return 0;
  }
  if (!begin_answer()) {
    error = std::make_error_code(std::errc::timed_out);
    return 0;
  }
  return write_now(pieces, error);
}

std::size_t session::write_now(std::span<iovec> pieces, std::error_code& error) {
  const std::size_t sent =
      write_in_time(connection_, write_deadline_, options_.write_timeout, pieces, error);
  if (error) is_broken_ = true;
  if (error) write_error_ = error;
  return sent;
}

std::string_view session::date_line() {
  const std::time_t second = current_second();
  if (second != date_second_) {
    date_second_ = second;
    date_line_ = "Date: " + format_date(second) + "\r\n";
  }
  return date_line_;
}

// From now on there is no time limit. If it is over, nothing can be written.
connection& session::hand_over(input_buffer& already_read) {
  stop_watching();
  if (begin_answer()) limit_.reset();
  std::swap(already_read, input_);
  {
    const std::lock_guard guard(lock_);
    is_handed_over_ = true;
    if (is_finishing_) cancel_();
  }
  connection_.set_read_deadline(time_point::max());
  return connection_;
}

// A socket that is closed with unread bytes in it resets the connection, and the peer may lose the
// answer that it has not read yet. So the peer is told that this is the end, and what it still
// sends is thrown away for a while (RFC 9112, 9.6), soon at a pace that costs little: the peer
// needs the time to read.
void session::linger(std::chrono::nanoseconds most) {
  constexpr std::size_t read_at_once = 64 << 10;
  std::error_code error;
  connection_.shutdown_write(error);
  if (error) return;
  connection_.set_read_deadline(now() + most);
  std::byte rest[4096];
  for (std::size_t sum = 0;;) {  // ends with the stream, or the deadline
    const std::size_t n = connection_.read_some(rest, error);
    if (n == 0 || error) return;
    sum += n;
    if (sum > read_at_once) this_goroutine::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace sley::http::detail
