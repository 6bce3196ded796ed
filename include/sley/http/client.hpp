// The client: sends requests, follows redirects, keeps connections.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/body.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/fields.hpp>
#include <sley/http/url.hpp>
#include <sley/time_span.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace sley::http {

namespace detail {
class client_pool;
class exchange;
struct client_access;
}  // namespace detail

// What a request sends. Copies share it.
class SLEY_API request_body {
 public:
  // Fills the buffer with at least one byte, and returns how many; 0: the end. May park. It is
  // called by a goroutine of its own, also after send() has returned, until the answer's body was
  // read or the response is destroyed: both wait for a call that is under way. An exception ends
  // the request, and leaves send() if that has not returned.
  using source = std::function<std::size_t(std::span<std::byte>)>;

  request_body() = default;  // none
  request_body(std::string text) : what_(std::make_shared<const std::string>(std::move(text))) {}
  request_body(std::string_view text) : request_body(std::string(text)) {}
  request_body(const char* text) : request_body(std::string(text)) {}
  // Not copied: it must stay as long as the response.
  request_body(std::span<const std::byte> bytes) : what_(bytes) {}
  // With a length it is sent as such, else in chunks. Can't be sent twice: such a request is never
  // tried again, and a redirect that would have to send it is not followed.
  template <class F>
    requires std::is_invocable_r_v<std::size_t, F&, std::span<std::byte>>
  request_body(F from, std::optional<std::uint64_t> length = std::nullopt)
      : what_(std::make_shared<const source>(std::move(from))), length_(length) {}

  // Whether nothing is sent.
  bool empty() const noexcept { return what_.index() == 0; }

 private:
  friend struct detail::client_access;
  std::variant<std::monostate, std::shared_ptr<const std::string>, std::span<const std::byte>,
               std::shared_ptr<const source>>
      what_;
  std::optional<std::uint64_t> length_;  // of a source
};

// What a client asks.
struct client_request {
  std::string method = "GET";  // not CONNECT
  std::string url;             // "http://host/path"
  // Host, User-Agent, Accept-Encoding and Connection are seen to if they are not set,
  // Content-Length and Transfer-Encoding always. With "Expect: 100-continue" the body waits until
  // the server asks for it.
  fields headers = {};
  request_body body = {};
  // When it ends, so does the request, up to the last byte of the answer.
  sley::context context = {};
};

// An answer, whose head has come. For one goroutine at a time. Once its body was read to the end
// its connection serves other requests; one that is dropped before that is closed, unless all of it
// has come already. Move-only.
class SLEY_API client_response {
 public:
  client_response() noexcept;  // of nothing: after an error
  client_response(client_response&&) noexcept;
  client_response& operator=(client_response&&) noexcept;
  ~client_response();

  int status() const noexcept;   // 200; 0 of nothing
  int version() const noexcept;  // 10 or 11
  // The status is 200 to 299.
  bool is_ok() const noexcept { return status() >= 200 && status() <= 299; }
  // The header, and the first value of a name in it; empty if there is none.
  const fields& headers() const noexcept;
  std::string_view header(std::string_view name) const noexcept { return headers().get(name); }
  const http::url& url() const noexcept;  // where it came from, behind redirects
  net::endpoint remote() const;           // of nothing once the body was read
  // The body came with gzip, which is undone while it is read; the header does not tell of it any
  // more, nor of the length. From Go's Response.Uncompressed.
  bool is_uncompressed() const noexcept;

  // As long as the response, and not of nothing. Its errors include the context's.
  body_reader& body() noexcept;
  // As body_reader's.
  std::string read_all(std::size_t limit = SIZE_MAX) { return body().read_all(limit); }
  std::string read_all(std::size_t limit, std::error_code& error) {
    return body().read_all(limit, error);
  }
  const fields& trailers() noexcept { return body().trailers(); }

 private:
  friend struct detail::client_access;
  explicit client_response(std::unique_ptr<detail::exchange> e) noexcept;
  std::unique_ptr<detail::exchange> exchange_;
};

// Makes a connection for the URL's scheme to its host and port. May wait; the context has the
// deadline of client_options::connect_timeout. Throws std::system_error. It may still run when the
// request was given up and the client is gone: it must own what it uses.
using connector = std::function<connection_ptr(const context&, const url&)>;

// Limits and hooks of a client.
struct client_options {
  std::size_t header_bytes = 64 << 10;  // more of an answer's head: errc::head_too_large
  std::uint64_t body_bytes = 64 << 20;  // more: errc::body_too_large; body_reader::set_limit
  int redirects = 10;  // that are followed, else errc::too_many_redirects; 0: they are answers
  std::size_t connections_per_host = 100;  // at once; more wait; at least 1
  std::size_t idle_connections = 100;      // that are kept, of all hosts
  // Deadlines. The longer ones may pass up to an eighth late. Zero and the largest duration of any
  // unit: none. Negative: passed at once. What passes is std::errc::timed_out.
  time_span connect_timeout = std::chrono::seconds(30);
  time_span header_timeout = std::chrono::seconds(60);  // from the request's end on
  time_span read_timeout = std::chrono::seconds(60);    // for some of a body to come
  time_span write_timeout = std::chrono::seconds(60);   // for the server to take some
  time_span idle_timeout = std::chrono::seconds(90);    // between two requests
  // For a server to ask for a body ("Expect: 100-continue"); then it is sent all the same.
  time_span expect_timeout = std::chrono::seconds(1);
  std::string user_agent = "sley";  // empty: none is sent
  // Asks for gzip, and undoes it, but for HEAD and where a request has Accept-Encoding or Range
  // itself. body_bytes is of what comes out. From Go's Transport.DisableCompression.
  bool decompress = true;
  // A request whose context carries a trace (<sley/http/trace.hpp>), as the context of a server's
  // request does, tells of it: traceparent and tracestate, unless it has a traceparent itself.
  bool trace = false;
  // Default: TCP for http, and std::errc::protocol_not_supported for all else. <sley/https.hpp> has
  // one for https.
  connector connect = {};
};

// Any number of goroutines may use it at once; each parks until the head of its answer has come.
// Responses may outlive it. From Go's http.Client and http.Transport.
//
// Errors are std::system_error whose text names the method and the URL; codes are the connection's,
// the context's, http::errc, and std::errc::invalid_argument for a text that is no URL. A status is
// no error, whatever it is. A method or header that can't be sent is std::invalid_argument or
// std::logic_error.
//
// A request of which nothing came back, over a connection that had served before, is tried again
// over a new one if that can do no harm: GET, HEAD, OPTIONS, TRACE, and requests with
// Idempotency-Key.
class SLEY_API client {
 public:
  explicit client(client_options options = {});  // std::invalid_argument: user_agent can't be sent
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();  // closes the idle connections

  // The context, if there is one, is the request's: when it ends, so does connecting, the TLS
  // handshake, sending, waiting for the head, and reading the answer's body, with its error.
  client_response get(std::string_view url, const context& ctx = context::background());
  client_response get(std::string_view url, std::error_code& error);
  client_response get(std::string_view url, const context& ctx, std::error_code& error);
  client_response head(std::string_view url, const context& ctx = context::background());
  client_response head(std::string_view url, std::error_code& error);
  client_response head(std::string_view url, const context& ctx, std::error_code& error);
  // An empty type sets none.
  client_response post(std::string_view url, std::string_view content_type, request_body body,
                       const context& ctx = context::background());
  client_response post(std::string_view url, std::string_view content_type, request_body body,
                       std::error_code& error);
  client_response post(std::string_view url, std::string_view content_type, request_body body,
                       const context& ctx, std::error_code& error);
  // Any method, headers and body; client_request has the context.
  client_response send(client_request request);
  client_response send(client_request request, std::error_code& error);

  // Closes the idle connections. Connections in use stay open.
  void close_idle();
  std::size_t idle_connections() const;  // how many are kept now

 private:
  std::shared_ptr<detail::client_pool> pool_;
};

}  // namespace sley::http
