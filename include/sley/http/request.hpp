// What a server's handler is asked.
#pragma once

#include <sley/context.hpp>
#include <sley/detail/config.hpp>
#include <sley/http/body.hpp>
#include <sley/http/connection.hpp>
#include <sley/http/fields.hpp>
#include <sley/http/url.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sley::http {

namespace detail {
class request_builder;
class session;
}  // namespace detail

// Made by a server, valid until the handler returns. For the handler's goroutine, and those it
// waits for. Views into it are valid as long as it is.
class SLEY_API request {
 public:
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  std::string_view method() const noexcept { return method_; }  // "GET"; case matters
  std::string_view target() const noexcept { return target_; }  // as it was sent
  // Begins with '/', without the query; "*" for OPTIONS of the server itself.
  std::string_view path() const noexcept { return path_; }          // decoded: "/a b"
  std::string_view raw_path() const noexcept { return raw_path_; }  // as sent: "/a%20b"
  std::string_view query() const noexcept { return query_; }        // as sent, without the '?'
  const parameters& query_parameters() const;                       // decoded at the first call
  int version() const noexcept { return version_; }                 // 10 or 11

  // All of the header.
  const fields& headers() const noexcept { return headers_; }
  // The first value of that name; empty if there is none.
  std::string_view header(std::string_view name) const noexcept { return headers_.get(name); }
  std::string_view host() const noexcept { return host_; }  // with the port, if it was sent

  // What a router's pattern matched for {name}, decoded; empty if it has no such part.
  std::string_view param(std::string_view name) const noexcept;
  // What the pattern's {name...} matched; without one, the path behind its first slash.
  std::string_view rest() const noexcept;

  // The first read asks a client that waits for it (Expect: 100-continue) to go on.
  body_reader& body() noexcept { return *body_; }

  // Ends when the peer has gone or ended its stream, and at the latest when the handler has
  // returned. From the first call on a goroutine watches the connection, once the body has been
  // read to its end. A handler that never calls it pays nothing. From Go's Request.Context.
  const sley::context& context();
  // Sets what context() returns from now on, for handlers that are called later: a context made
  // from it, as by with_value().
  void set_context(sley::context ctx);

  // The peer of the connection, and whether it is TLS.
  net::endpoint remote() const { return connection_->remote(); }
  bool is_encrypted() const noexcept { return connection_->is_encrypted(); }

 private:
  friend class detail::request_builder;
  explicit request(detail::session& session) noexcept : session_(session) {}

  detail::session& session_;

  std::string_view method_;
  std::string_view path_;
  std::string_view raw_path_;
  std::string_view query_;
  std::string_view host_;
  int version_ = 11;
  std::string target_;
  std::string unusual_method_;  // method_ of one that is not in the tables
  std::string decoded_path_;    // path_, if it is not raw_path_
  fields headers_;
  std::vector<std::pair<std::string_view, std::string>> params_;
  bool has_rest_ = false;  // the last of params_ is of {name...}
  mutable std::optional<parameters> query_parameters_;
  body_reader* body_ = nullptr;
  connection* connection_ = nullptr;
};

}  // namespace sley::http
