#include <sley/http/response.hpp>

#include "http/body_encoder.hpp"
#include "http/kept_memory.hpp"
#include "http/session.hpp"
#include "http/text.hpp"

#include <sley/http/error.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include <sys/uio.h>

namespace sley::http {

namespace {

constexpr std::size_t buffer_bytes = 8 << 10;
constexpr std::size_t worth_copying = 1 << 10;  // instead of one more buffer in a system call

// What Go does not send behind a body either: it would come too late to be heeded, or lets one
// recipient read the message in another way than the next (RFC 9110, 6.5.1).
bool may_be_trailer(std::string_view name) noexcept {
  static constexpr std::string_view never[] = {"Authorization",
                                               "Cache-Control",
                                               "Connection",
                                               "Content-Encoding",
                                               "Content-Length",
                                               "Content-Range",
                                               "Content-Type",
                                               "Expect",
                                               "Host",
                                               "Keep-Alive",
                                               "Max-Forwards",
                                               "Pragma",
                                               "Proxy-Authenticate",
                                               "Proxy-Connection",
                                               "Range",
                                               "Realm",
                                               "Proxy-Authorization",
                                               "Set-Cookie",
                                               "Transfer-Encoding",
                                               "TE",
                                               "Trailer",
                                               "Upgrade",
                                               "WWW-Authenticate"};
  return std::ranges::none_of(
      never, [name](std::string_view bad) { return equals_ignoring_case(name, bad); });
}

using then = detail::body_encoder::then;

iovec piece(std::string_view text) noexcept {
  return {const_cast<char*>(text.data()), text.size()};
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append_field(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

void throw_if(const std::error_code& error) {
  if (error) throw std::system_error(error, "sley: write a response");
}

}  // namespace

response::response(detail::session& session) noexcept : session_(session) {}
response::~response() = default;

// ---- what a handler does ----

void response::set_status(int status) {
  if (status < 200 || status > 999) {
    throw std::invalid_argument("sley: the status of a response is not 200 to 999 but " +
                                std::to_string(status));
  }
  refuse_after_head("the status");
  status_ = status;
}

fields& response::headers() {
  refuse_after_head("the header");
  return headers_;
}

void response::refuse_after_head(const char* what) const {
  if (!is_head_sent_) return;
  throw std::logic_error(std::string("sley: ") + what +
                         " of a response can't change after its head was sent");
}

void response::throw_no_body() const {
  throw std::logic_error("sley: a response of status " + std::to_string(status_) + " has no body");
}

// A CONNECT that succeeds makes a tunnel, which has no end that a head could tell, and which sley
// has not.
bool response::opens_tunnel() const noexcept { return status_ < 300 && session_.is_for_tunnel(); }

bool response::allows_body() const noexcept {
  return status_ != 204 && status_ != 205 && status_ != 304 && !opens_tunnel();
}

void response::write(std::string_view text, std::error_code& error) {
  error.clear();
  if (text.empty()) return;
  if (!allows_body()) throw_no_body();
  body_bytes_ += text.size();
  const bool is_encoded = encoder_ && is_head_sent_;
  if (!is_encoded && pending_.size() + text.size() <= buffer_bytes) {
    pending_.append(text);
    return;
  }
  if (!is_head_sent_) make_head(false);
  if (has_length_ && body_bytes_ > length_) throw_wrong_length();
  if (encoder_) return write_encoded(text, error);
  send_pending(text, false, error);
}

void response::write(std::string_view text) {
  std::error_code error;
  write(text, error);
  throw_if(error);
}

void response::write(std::span<const std::byte> bytes, std::error_code& error) {
  write(text_of(bytes), error);
}
void response::write(std::span<const std::byte> bytes) { write(text_of(bytes)); }

void response::flush(std::error_code& error) {
  error.clear();
  if (!is_head_sent_) make_head(false);
  if (encoder_) encoder_->encode({}, then::pause, pending_);
  send_pending({}, false, error);
}

void response::flush() {
  std::error_code error;
  flush(error);
  throw_if(error);
}

void response::send(int status, std::string_view content_type, std::string_view body) {
  set_status(status);
  if (body_bytes_ > 0) throw std::logic_error("sley: send() of a response that has a body already");
  if (!content_type.empty()) headers_.set("Content-Type", content_type);
  if (body.size() > buffer_bytes) headers_.set("Content-Length", body.size());
  write(body);
}

void response::send(int status) { send_text(status, reason_phrase(status)); }

// Left out where there is no body.
void response::send_text(int status, std::string_view text) {
  set_status(status);
  const bool has_body = allows_body();
  send(status, has_body ? "text/plain; charset=utf-8" : "", has_body ? text : std::string_view());
}

void response::redirect(int status, std::string_view location) {
  headers().set("Location", location);
  send(status);
}

// ---- what goes out ----

void response::begin(bool is_for_head) noexcept {
  status_ = 200;
  is_head_sent_ = is_complete_ = is_chunked_ = is_open_ended_ = has_length_ = false;
  is_for_head_ = is_for_head;
  length_ = body_bytes_ = sent_bytes_ = 0;
  headers_.clear();
  trailers_.clear();
  head_.clear();
  pending_.clear();
  encoder_.reset();
}

// Between two requests.
void response::release() noexcept {
  begin(false);
  detail::clear_and_keep(head_, detail::kept_of_a_text);
  detail::clear_and_keep(pending_, buffer_bytes / 2);
}

// How the body's end is told (RFC 9112, 6.3), and the head that says so, into head_.
void response::make_head(bool is_body_complete) {
  if (headers_.contains("Transfer-Encoding")) {
    throw std::logic_error("sley: a server sets the Transfer-Encoding of a response itself");
  }
  if (body_bytes_ > 0 && !allows_body()) throw_no_body();
  if (headers_.has_token("Connection", "close")) session_.close_after_this();
  take_length();
  const bool is_encoded = encoder_ && begin_encoding(is_body_complete);
  const bool has_length = has_length_ && !is_encoded;
  const bool is_open = !has_length && !is_body_complete && allows_body();
  is_chunked_ = is_open && !session_.is_http_1_0();
  is_open_ended_ = is_open && !is_chunked_ && !is_for_head_;
  if (is_open && !is_chunked_) session_.close_after_this();
  if (is_open_ended_) session_.set_open_ended(true);

  append_status_line();
  for (const fields::field& f : headers_) append_field(head_, f.name, f.value);
  if (!headers_.contains("Date")) head_.append(session_.date_line());
  if (is_chunked_) {
    head_.append("Transfer-Encoding: chunked\r\n");
  } else if (!has_length && tells_length(is_body_complete)) {
    head_.append("Content-Length: ");
    detail::append_decimal(head_, pending_.size());
    head_.append("\r\n");
  }
  append_connection();
  head_.append("\r\n");
  is_head_sent_ = true;
}

// What the handler has set. RFC 9110, 8.6, has none of it where there can't be a body.
void response::take_length() {
  if (status_ == 204 || opens_tunnel()) headers_.erase("Content-Length");
  const auto set = headers_.find("Content-Length");
  if (!set) return;
  const auto length = detail::parse_decimal(*set);
  if (!length) throw std::logic_error("sley: the Content-Length of a response is not a number");
  if (headers_.all("Content-Length").size() > 1) {
    throw std::logic_error("sley: a response has more than one Content-Length");
  }
  if (status_ == 205 && *length > 0) throw_no_body();
  has_length_ = true;
  length_ = *length;
}

// To HEAD a handler need not make the body. A 205 has one as far as framing goes: of no bytes.
bool response::tells_length(bool is_body_complete) const noexcept {
  if (status_ == 205) return true;
  return is_body_complete && allows_body() && (!is_for_head_ || body_bytes_ > 0);
}

// Whether the body that follows is encoded; pending_ is, then.
bool response::begin_encoding(bool is_body_complete) {
  std::optional<std::uint64_t> length;
  if (is_body_complete) length = body_bytes_;
  if (has_length_) length = length_;
  const bool is_encoded = encoder_->begin(status_, length, headers_);
  if (is_encoded) {
    const std::string plain = std::exchange(pending_, {});
    encoder_->encode(plain, is_body_complete ? then::end : then::more, pending_);
  }
  if (!is_encoded || is_body_complete || is_for_head_) encoder_.reset();
  return is_encoded;
}

void response::append_status_line() {
  if (status_ == 200) {
    head_.append("HTTP/1.1 200 OK\r\n");
    return;
  }
  head_.append("HTTP/1.1 ");
  detail::append_decimal(head_, static_cast<std::uint64_t>(status_));
  head_.append(" ").append(reason_phrase(status_)).append("\r\n");
}

// Beside what the handler has set. Upgrade is for the next recipient alone, and Connection says so
// (RFC 9110, 7.8).
void response::append_connection() {
  std::string_view lasts = "close";
  if (session_.keeps_alive()) lasts = session_.is_http_1_0() ? "keep-alive" : "";
  if (headers_.has_token("Connection", lasts)) lasts = {};
  const bool names_upgrade =
      headers_.contains("Upgrade") && !headers_.has_token("Connection", "Upgrade");
  if (lasts.empty() && !names_upgrade) return;
  head_.append("Connection: ").append(lasts);
  if (names_upgrade) head_.append(lasts.empty() ? "Upgrade" : ", Upgrade");
  head_.append("\r\n");
}

// In steps, so that what waits to be sent stays small.
void response::write_encoded(std::string_view text, std::error_code& error) {
  constexpr std::size_t step = 64 << 10;
  while (!text.empty() && !error) {
    encoder_->encode(text.substr(0, step), then::more, pending_);
    text.remove_prefix(std::min(text.size(), step));
    if (pending_.size() > buffer_bytes) send_pending({}, false, error);
  }
}

// What is in head_ and pending_, and this text behind it, in one call.
void response::send_pending(std::string_view text, bool is_last, std::error_code& error) {
  const std::size_t size = is_for_head_ ? 0 : pending_.size() + text.size();
  std::string tail;
  if (is_chunked_ && size > 0) {
    detail::append_hex(head_, size);
    head_.append("\r\n");
    tail = "\r\n";
  }
  if (is_chunked_ && is_last && !is_for_head_) {
    tail.append("0\r\n");
    for (const fields::field& f : trailers_) append_field(tail, f.name, f.value);
    tail.append("\r\n");
  }
  const std::size_t before_body = head_.size();
  std::string_view body = size > 0 ? std::string_view(pending_) : std::string_view();
  if (body.size() <= worth_copying) {
    head_.append(body);
    body = {};
  }
  std::array<iovec, 4> pieces;
  std::size_t n = 0;
  for (const std::string_view part :
       {std::string_view(head_), body, size > 0 ? text : std::string_view(),
        std::string_view(tail)}) {
    if (!part.empty()) pieces[n++] = piece(part);
  }
  if (n > 0) {
    const std::size_t sent = session_.write(std::span(pieces).first(n), error);
    sent_bytes_ += std::min(sent - std::min(sent, before_body), size);
  }
  head_.clear();
  pending_.clear();
}

void response::finish() {
  for (const fields::field& f : trailers_) {
    if (may_be_trailer(f.name)) continue;
    throw std::logic_error("sley: " + std::string(f.name) + " can't be sent behind a body");
  }
  const bool was_sent = is_head_sent_;
  if (!was_sent) make_head(true);
  if (has_length_ && body_bytes_ != length_ && !is_for_head_ && allows_body()) {
    is_head_sent_ = was_sent;  // there still can be another answer
    throw_wrong_length();
  }
  if (encoder_) encoder_->encode({}, then::end, pending_);
  std::error_code error;
  send_pending({}, true, error);
  throw_if(error);
  is_complete_ = true;
  if (is_open_ended_) session_.set_open_ended(false);
}

void response::throw_wrong_length() const {
  throw std::logic_error("sley: the body of a response has " + std::to_string(body_bytes_) +
                         " bytes, its Content-Length is " + std::to_string(length_));
}

}  // namespace sley::http
