// What a server's handler answers.
#pragma once

#include <sley/detail/config.hpp>
#include <sley/http/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sley::http {

namespace detail {
class body_encoder;
class session;
struct response_access;
}  // namespace detail

// Made by a server, valid until the handler returns; then what is missing is sent. The head goes
// out with the first part of the body that does not fit into the buffer (8 KiB), with the first
// flush(), or at the end. A body that is complete by then has a Content-Length; one that is not,
// and for which the handler has set none, is sent in chunks, or to HTTP/1.0 until the connection
// closes. For the handler's goroutine, and those it waits for.
//
// The handler's mistakes are std::logic_error: changing the head once it is out, a body where there
// is none (204, 205, 304, and 2xx to CONNECT), a Content-Length that was set twice or is not that
// of the body, and trailers that belong into the header.
class SLEY_API response {
 public:
  response(const response&) = delete;
  response& operator=(const response&) = delete;
  ~response();

  // Of the answer.
  int status() const noexcept { return status_; }
  void set_status(int status);  // 200 at first; 200 to 999, else std::invalid_argument
  // Date, Content-Length, Transfer-Encoding and Connection are seen to if they are not set;
  // "Connection: close" closes. With Upgrade, Connection gets the option of that name.
  fields& headers();
  const fields& headers() const noexcept { return headers_; }

  // Parks while the peer does not take it. A peer that has gone is an error of the connection,
  // which a handler may just let through. To HEAD nothing is sent.
  void write(std::span<const std::byte> bytes);
  void write(std::span<const std::byte> bytes, std::error_code& error);
  void write(std::string_view text);
  void write(std::string_view text, std::error_code& error);
  // Sends now all that is written.
  void flush();
  void flush(std::error_code& error);

  // Head and body at once. An empty type sets none.
  void send(int status, std::string_view content_type, std::string_view body);
  // The status and its phrase as plain text.
  void send(int status);
  // Sends the client there: 301, 302, 303, 307 or 308.
  void redirect(int status, std::string_view location);

  // Sent behind the chunks; left out if the body goes otherwise. Not for what frames, routes or
  // describes the message, as Content-Type, Host or Authorization.
  fields& trailers() noexcept { return trailers_; }

  bool is_head_sent() const noexcept { return is_head_sent_; }       // it can't be changed any more
  std::uint64_t body_bytes() const noexcept { return body_bytes_; }  // given to write() so far
  // What the connection has taken of the body as it is sent: packed, without the sizes of chunks.
  std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }

 private:
  friend class detail::session;
  friend struct detail::response_access;
  friend class websocket;
  explicit response(detail::session& session) noexcept;
  void begin(bool is_for_head) noexcept;
  void send_text(int status, std::string_view text);
  void release() noexcept;
  // All of it was sent, or is another protocol's from now on.
  bool is_complete() const noexcept { return is_complete_; }
  bool is_open_ended() const noexcept { return is_open_ended_; }
  void finish();
  void refuse_after_head(const char* what) const;
  [[noreturn]] void throw_no_body() const;
  [[noreturn]] void throw_wrong_length() const;
  bool opens_tunnel() const noexcept;
  bool allows_body() const noexcept;
  void make_head(bool is_body_complete);
  void take_length();
  bool tells_length(bool is_body_complete) const noexcept;
  bool begin_encoding(bool is_body_complete);
  void append_status_line();
  void append_connection();
  void write_encoded(std::string_view text, std::error_code& error);
  void send_pending(std::string_view text, bool is_last, std::error_code& error);

  detail::session& session_;
  int status_ = 200;
  bool is_head_sent_ = false;
  bool is_for_head_ = false;  // the request is for the head only
  bool is_complete_ = false;
  bool is_chunked_ = false;
  bool is_open_ended_ = false;  // only the end of the stream tells the end of the body
  bool has_length_ = false;     // the handler has set Content-Length
  std::uint64_t length_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  fields headers_;
  fields trailers_;
  std::string head_;     // made and not sent yet
  std::string pending_;  // body that was not sent yet; encoded, if it is, once the head is made
  std::unique_ptr<detail::body_encoder> encoder_;  // of compress(); null: the body goes as it is
};

}  // namespace sley::http
