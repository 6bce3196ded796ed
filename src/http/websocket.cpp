#include <sley/http/websocket.hpp>

#include "http/session.hpp"
#include "http/text.hpp"
#include "http/websocket_frame.hpp"
#include "http/websocket_handshake.hpp"

#include <sley/chan.hpp>
#include <sley/go.hpp>
#include <sley/http/error.hpp>
#include <sley/sync.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include <sys/uio.h>

namespace sley::http {

namespace detail {

namespace {

constexpr std::uint16_t no_code = 1005;
constexpr std::uint16_t not_closed = 1006;
constexpr std::chrono::seconds patience(1);  // for the peer to answer our close

// RFC 6455, 7.4, and the registry it made.
bool may_be_sent(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

}  // namespace

class websocket_state {
 public:
  websocket_state(session& s, std::size_t most_bytes, std::string protocol)
      : session_(s), most_bytes_(most_bytes), protocol_(std::move(protocol)) {
    connection_ = &s.hand_over(input_);
  }

  std::optional<websocket::message> read(std::error_code& error);
  void write(opcode what, std::string_view data, std::error_code& error);
  void close(std::uint16_t code, std::string_view reason);
  void set_read_deadline(time_point when);
  // The handshake is over: what the server says at its shutdown may follow.
  void begin();
  void end() noexcept;

  std::uint16_t close_code() const noexcept { return close_code_; }
  std::string_view close_reason() const noexcept { return close_reason_; }
  std::string_view protocol() const noexcept { return protocol_; }

 private:
  bool read_frame(std::error_code& error);
  bool begin_frame(std::error_code& error);
  bool fill(std::error_code& error);
  bool is_too_large(std::size_t head_bytes) noexcept;
  bool must_end() noexcept;
  std::error_code write_failure() noexcept;
  void answer_control(std::error_code& error);
  void on_close(std::string_view payload, std::error_code& error);
  void fail(std::uint16_t code, errc why, std::error_code& error);
  void leave() noexcept;

  session& session_;
  connection* connection_;
  const std::size_t most_bytes_;
  const std::string protocol_;

  input_buffer input_;
  frame_head head_;         // of the frame that is being read
  std::uint64_t done_ = 0;  // bytes of it that were read
  bool is_in_frame_ = false;
  std::string control_;         // what a control frame carries
  websocket::message message_;  // as far as it has come
  std::uint64_t wire_ = 0;      // as it came, with the heads of frames, and control frames
  bool is_in_message_ = false;
  bool is_closed_ = false;    // by the peer, or by an error
  std::error_code ended_by_;  // empty: properly
  std::uint16_t close_code_ = not_closed;
  std::string close_reason_;

  mutex writing_;
  bool has_said_close_ = false;    // [writing_]
  std::error_code write_failure_;  // [writing_] stays

  // At the server's shutdown a goroutine tells the peer, and closes the channel when it has.
  std::optional<chan<void>> leaving_;  // [the session's lock, until end() has ended on_finish()]
  mutex deadlines_;
  time_point read_deadline_ = time_point::max();  // [deadlines_] of set_read_deadline()
  time_point leave_by_ = time_point::max();       // [deadlines_] for the peer to answer our close
};

// ---- reading ----

std::optional<websocket::message> websocket_state::read(std::error_code& error) {
  error = ended_by_;
  while (!is_closed_) {  // ends: by a message, by the peer's close, or by an error
    if (!read_frame(error)) break;
    if (is_control(head_.what)) {
      answer_control(error);
    } else if (head_.is_last) {
      is_in_message_ = false;
      if (message_.is_text && !is_utf8(message_.data)) {
        fail(1007, errc::malformed, error);
      } else {
        return std::exchange(message_, {});
      }
    }
  }
  return std::nullopt;
}

// A whole frame, in as many attempts as deadlines make of it. Returns whether it is there.
bool websocket_state::read_frame(std::error_code& error) {
  if (!is_in_frame_ && !begin_frame(error)) return false;
  std::string& into = is_control(head_.what) ? control_ : message_.data;
  while (done_ < head_.size) {
    if (input_.empty() && !fill(error)) return false;
    const auto n = std::min<std::uint64_t>(input_.size(), head_.size - done_);
    into.append(input_.text().substr(0, n));
    unmask(std::span(into).last(n), head_.mask, done_);
    input_.consume(n);
    done_ += n;
  }
  is_in_frame_ = false;
  return true;
}

// A message may take as much again for its frames, and for control frames between them, and 64 KiB.
bool websocket_state::is_too_large(std::size_t head_bytes) noexcept {
  constexpr std::uint64_t slack = 64 << 10;
  const std::uint64_t most = most_bytes_;
  if (is_control(head_.what)) {
    wire_ += head_bytes + head_.size;
  } else {
    const std::uint64_t left = most - std::min<std::uint64_t>(most, message_.data.size());
    if (message_.data.size() > most || head_.size > left) return true;
    if (head_.what != opcode::continuation) wire_ = 0;
    wire_ += head_bytes + head_.size;
  }
  return is_in_message_ && wire_ > slack && (wire_ - slack) / 2 > most;
}

bool websocket_state::begin_frame(std::error_code& error) {
  frame_parse parsed = parse_frame_head(input_.text(), head_);
  while (parsed.what == frame_parse::result::need_more) {
    if (!fill(error)) return false;
    parsed = parse_frame_head(input_.text(), head_);
  }
  const bool is_data = !is_control(head_.what);
  const bool continues = head_.what == opcode::continuation;
  if (parsed.what == frame_parse::result::malformed || (is_data && continues != is_in_message_)) {
    fail(1002, errc::malformed, error);
    return false;
  }
  if (is_too_large(parsed.consumed)) {
    fail(1009, errc::body_too_large, error);
    return false;
  }
  input_.consume(parsed.consumed);
  if (is_data && !continues) {
    is_in_message_ = true;
    message_.is_text = head_.what == opcode::text;
  }
  control_.clear();
  done_ = 0;
  is_in_frame_ = true;
  return true;
}

bool websocket_state::fill(std::error_code& error) {
  if (input_.empty()) input_.release();
  const std::size_t n = connection_->read_some(input_.room(), error);
  input_.add(n);
  if (n == 0 && !error) error = errc::incomplete;
  if (error == std::errc::timed_out && must_end()) {
    error = std::make_error_code(std::errc::operation_canceled);
  }
  // A deadline may be moved, and reading may go on where it was.
  if (error && error != std::errc::timed_out) {
    is_closed_ = true;
    ended_by_ = error;
  }
  return !error;
}

// Has the peer not answered our close in time?
bool websocket_state::must_end() noexcept {
  const std::lock_guard guard(deadlines_);
  return std::chrono::steady_clock::now() >= leave_by_;
}

std::error_code websocket_state::write_failure() noexcept {
  const std::lock_guard guard(writing_);
  return write_failure_;
}

// A peer to which nothing can be written is not read from for ever.
void websocket_state::answer_control(std::error_code& error) {
  if (head_.what == opcode::ping) {
    std::error_code ignored;
    write(opcode::pong, control_, ignored);
    error = ended_by_ = write_failure();
    is_closed_ = bool(error);
  }
  if (head_.what == opcode::close) on_close(control_, error);
}

void websocket_state::on_close(std::string_view payload, std::error_code& error) {
  close_code_ = no_code;
  if (payload.size() >= 2) {
    close_code_ = static_cast<std::uint16_t>(static_cast<unsigned char>(payload[0]) << 8 |
                                             static_cast<unsigned char>(payload[1]));
    close_reason_ = payload.substr(2);
  }
  const bool is_proper = payload.empty() || (payload.size() >= 2 && may_be_sent(close_code_) &&
                                             is_utf8(close_reason_));
  if (!is_proper) return fail(1002, errc::malformed, error);
  is_closed_ = true;
  close(close_code_ == no_code ? 1000 : close_code_, {});
}

void websocket_state::fail(std::uint16_t code, errc why, std::error_code& error) {
  is_closed_ = true;
  error = ended_by_ = why;
  close(code, {});
  session_.linger_at_the_end();
}

// ---- writing ----

void websocket_state::write(opcode what, std::string_view data, std::error_code& error) {
  std::array<char, 10> buffer;
  const std::string_view head = make_frame_head(buffer, what, data.size());
  iovec pieces[] = {{const_cast<char*>(head.data()), head.size()},
                    {const_cast<char*>(data.data()), data.size()}};
  const std::lock_guard guard(writing_);
  if (has_said_close_) {
    error = std::make_error_code(std::errc::broken_pipe);
    return;
  }
  has_said_close_ = what == opcode::close;
  session_.write(pieces, error);
  write_failure_ = error;
}

void websocket_state::close(std::uint16_t code, std::string_view reason) {
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 255)};
  payload += reason.substr(0, 123);
  std::error_code ignored;  // if the peer is not there any more, so be it
  write(opcode::close, payload, ignored);
}

void websocket_state::set_read_deadline(time_point when) {
  const std::lock_guard guard(deadlines_);
  read_deadline_ = when;
  connection_->set_read_deadline(std::min(when, leave_by_));
}

void websocket_state::begin() {
  session_.on_finish([this] { leave(); });
}

// The server is shut down. By a goroutine, because others may be writing and the caller must not
// wait.
void websocket_state::leave() noexcept {
  try {
    const chan<void> ended;
    go(go_options{.name = "http websocket"}, [this, ended] {
      close(1001, {});
      {
        const std::lock_guard guard(deadlines_);
        leave_by_ = std::chrono::steady_clock::now() + patience;
        connection_->set_read_deadline(std::min(read_deadline_, leave_by_));
      }
      ended.close();
    });
    leaving_ = ended;
  } catch (const std::exception&) {
    connection_->close();  // no memory: then without a farewell
  }
}

// Both sides have to say so before the connection may end (RFC 6455, 7.1.1).
void websocket_state::end() noexcept {
  try {
    session_.on_finish(nullptr);
    if (leaving_) leaving_->receive();
    close(1001, {});
    set_read_deadline(std::chrono::steady_clock::now() + patience);
    std::error_code error = write_failure();  // then the peer does not know of our close
    while (!is_closed_ && !error) read(error);
  } catch (const std::exception&) {  // no memory: then without a farewell
  }
}

}  // namespace detail

namespace {

void throw_if(const std::error_code& error, const char* operation) {
  if (error) throw std::system_error(error, operation);
}

}  // namespace

// ---- the handshake ----

websocket websocket::accept(request& in, response& out, const websocket_options& options) {
  if (in.method() != "GET") {
    out.headers().set("Allow", "GET");
    throw status_error(405);
  }
  out.headers().set("Upgrade", "websocket");
  out.headers().set("Sec-WebSocket-Version", "13");
  detail::check_upgrade(in, options.any_origin);
  // Its bytes would be taken for frames.
  if (in.body().length() != 0) throw status_error(400, "a handshake of WebSocket has no body");
  const auto key = detail::accept_key(in.header("Sec-WebSocket-Key"));
  std::string protocol = detail::choose_protocol(in, options.protocols);
  std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: ";
  answer.append(key.data(), key.size()).append("\r\n");
  if (!protocol.empty()) answer += "Sec-WebSocket-Protocol: " + protocol + "\r\n";
  answer += "\r\n";
  out.status_ = 101;
  out.is_head_sent_ = out.is_complete_ = true;
  websocket ws(std::make_unique<detail::websocket_state>(out.session_, options.message_bytes,
                                                         std::move(protocol)));
  iovec whole = {answer.data(), answer.size()};
  std::error_code error;
  out.session_.write({&whole, 1}, error);
  throw_if(error, "sley: accept a WebSocket");
  ws.state_->begin();
  return ws;
}

// ---- the rest hands on ----

websocket::websocket(std::unique_ptr<detail::websocket_state> state) noexcept
    : state_(std::move(state)) {}
websocket::websocket(websocket&&) noexcept = default;
websocket& websocket::operator=(websocket&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
websocket::~websocket() {
  if (state_) state_->end();
}

std::optional<websocket::message> websocket::read(std::error_code& error) {
  return state_->read(error);
}
std::optional<websocket::message> websocket::read() {
  std::error_code error;
  auto m = read(error);
  throw_if(error, "sley: read from a WebSocket");
  return m;
}

void websocket::write_text(std::string_view text, std::error_code& error) {
  error.clear();
  state_->write(detail::opcode::text, text, error);
}
void websocket::write_text(std::string_view text) {
  std::error_code error;
  write_text(text, error);
  throw_if(error, "sley: write to a WebSocket");
}

void websocket::write_binary(std::span<const std::byte> bytes, std::error_code& error) {
  error.clear();
  state_->write(detail::opcode::binary, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                error);
}
void websocket::write_binary(std::span<const std::byte> bytes) {
  std::error_code error;
  write_binary(bytes, error);
  throw_if(error, "sley: write to a WebSocket");
}

void websocket::ping(std::string_view data) {
  if (data.size() > 125)
    throw std::invalid_argument("sley: the data of a WebSocket ping are more than 125 bytes");
  std::error_code error;
  state_->write(detail::opcode::ping, data, error);
  throw_if(error, "sley: ping a WebSocket");
}

void websocket::close(std::uint16_t code, std::string_view reason) {
  if (!detail::may_be_sent(code)) {
    throw std::invalid_argument("sley: a WebSocket can't be closed with the code " +
                                std::to_string(code));
  }
  if (reason.size() > 123 || !detail::is_utf8(reason)) {
    throw std::invalid_argument(
        "sley: the reason to close a WebSocket with is not UTF-8 of at most 123 bytes");
  }
  state_->close(code, reason);
}

std::uint16_t websocket::close_code() const noexcept { return state_->close_code(); }
std::string_view websocket::close_reason() const noexcept { return state_->close_reason(); }
std::string_view websocket::protocol() const noexcept { return state_->protocol(); }
void websocket::set_read_deadline(instant when) { state_->set_read_deadline(when); }

}  // namespace sley::http
