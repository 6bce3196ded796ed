#include <sley/http/client.hpp>

#include "http/authority.hpp"
#include "http/client_exchange.hpp"
#include "http/client_redirect.hpp"
#include "http/text.hpp"

#include <sley/detail/c_text.hpp>
#include <sley/http/error.hpp>
#include <sley/http/trace.hpp>

#include <stdexcept>
#include <utility>

namespace sley::http {

namespace detail {

namespace {

// Over a connection that served before and turns out to be closed, a request may be lost before the
// server sees it: it is sent again over a new one.
std::unique_ptr<exchange> exchange_once(client_pool& pool, const hop& h, std::error_code& error) {
  for (bool is_fresh = false;; is_fresh = true) {  // ends: what goes over a new one is not repeated
    client_pool::lease l = pool.take(h.ctx, h.to, is_fresh, error);
    if (error) return nullptr;
    auto e = std::make_unique<exchange>(std::move(l), pool.options(), h);
    e->run(error);
    if (!error) return e;
    if (!e->may_repeat(error)) return nullptr;
    error.clear();
  }
}

std::unique_ptr<exchange> follow(client_pool& pool, hop h, std::error_code& error) {
  const int most = pool.options().redirects;
  for (int followed = 0;; ++followed) {  // ends: after `most` redirects
    auto e = exchange_once(pool, h, error);
    if (error || most == 0) return e;
    auto next = redirect(h, e->head(), error);
    if (!error && !next) return e;
    if (!error && followed == most) error = errc::too_many_redirects;
    if (error) return nullptr;
    h = *std::move(next);
  }
}

void refuse_bad(const client_request& r) {
  if (!is_token(r.method) || r.method == "CONNECT") {
    throw std::invalid_argument("sley: a client can't send a request of the method " +
                                sley::detail::quoted(r.method));
  }
  if (r.headers.contains("Content-Length") || r.headers.contains("Transfer-Encoding")) {
    throw std::logic_error(
        "sley: a client sets Content-Length and Transfer-Encoding of a request itself");
  }
  if (r.method == "TRACE" && client_access::length_of(r.body) != 0) {
    throw std::invalid_argument("sley: a TRACE request can't have a body");
  }
  const auto hosts = r.headers.all("Host");
  const bool is_host = hosts.size() == 1 && (hosts[0].empty() || is_request_authority(hosts[0]));
  if (!hosts.empty() && !is_host) {
    throw std::invalid_argument("sley: a request needs one valid Host, not " +
                                sley::detail::quoted(hosts.back()));
  }
}

void tell_of_trace(client_request& r) {
  const trace_context* const trace = trace_in(r.context);
  if (trace != nullptr && !r.headers.contains("traceparent")) set_trace(r.headers, *trace);
}

}  // namespace

client_response client_access::make_response(std::unique_ptr<exchange> e) noexcept {
  return client_response(std::move(e));
}

}  // namespace detail

// ---- responses ----

client_response::client_response() noexcept = default;
client_response::client_response(std::unique_ptr<detail::exchange> e) noexcept
    : exchange_(std::move(e)) {}
client_response::client_response(client_response&&) noexcept = default;
client_response& client_response::operator=(client_response&&) noexcept = default;
client_response::~client_response() = default;

int client_response::status() const noexcept { return exchange_ ? exchange_->head().status : 0; }
int client_response::version() const noexcept { return exchange_ ? exchange_->head().version : 0; }
const fields& client_response::headers() const noexcept {
  static const fields none;
  return exchange_ ? exchange_->head().headers : none;
}
const url& client_response::url() const noexcept {
  static const http::url none;
  return exchange_ ? exchange_->from() : none;
}
net::endpoint client_response::remote() const {
  return exchange_ ? exchange_->remote() : net::endpoint();
}
bool client_response::is_uncompressed() const noexcept {
  return exchange_ && exchange_->is_unpacked();
}
body_reader& client_response::body() noexcept { return *exchange_; }

// ---- the client ----

client::client(client_options options)
    : pool_(std::make_shared<detail::client_pool>(std::move(options))) {
  if (!detail::is_field_value(pool_->options().user_agent)) {
    throw std::invalid_argument("sley: client_options::user_agent has control characters: " +
                                sley::detail::quoted(pool_->options().user_agent));
  }
}
client::~client() { pool_->close(); }

client_response client::send(client_request request, std::error_code& error) {
  detail::refuse_bad(request);
  error = request.context.error();
  if (error) return {};
  auto to = url::try_parse(request.url);
  if (!to) {
    error = std::make_error_code(std::errc::invalid_argument);
    return {};
  }
  if (pool_->options().trace) detail::tell_of_trace(request);
  auto e = detail::follow(*std::shared_ptr(pool_),
                          {std::move(request.method), *std::move(to), std::move(request.headers),
                           std::move(request.body), std::move(request.context)},
                          error);
  return error ? client_response() : detail::client_access::make_response(std::move(e));
}

client_response client::send(client_request request) {
  const std::string what = "sley: " + request.method + ' ' + sley::detail::quoted(request.url);
  std::error_code error;
  client_response r = send(std::move(request), error);
  if (error) throw std::system_error(error, what);
  return r;
}

namespace {

client_request make_request(const char* method, std::string_view url, const context& ctx) {
  return {.method = method, .url = std::string(url), .context = ctx};
}

client_request make_post(std::string_view url, std::string_view content_type, request_body body,
                         const context& ctx) {
  client_request r = make_request("POST", url, ctx);
  r.body = std::move(body);
  if (!content_type.empty()) r.headers.set("Content-Type", content_type);
  return r;
}

}  // namespace

client_response client::get(std::string_view url, const context& ctx) {
  return send(make_request("GET", url, ctx));
}
client_response client::get(std::string_view url, std::error_code& error) {
  return get(url, context::background(), error);
}
client_response client::get(std::string_view url, const context& ctx, std::error_code& error) {
  return send(make_request("GET", url, ctx), error);
}

client_response client::head(std::string_view url, const context& ctx) {
  return send(make_request("HEAD", url, ctx));
}
client_response client::head(std::string_view url, std::error_code& error) {
  return head(url, context::background(), error);
}
client_response client::head(std::string_view url, const context& ctx, std::error_code& error) {
  return send(make_request("HEAD", url, ctx), error);
}

client_response client::post(std::string_view url, std::string_view content_type, request_body body,
                             const context& ctx) {
  return send(make_post(url, content_type, std::move(body), ctx));
}
client_response client::post(std::string_view url, std::string_view content_type, request_body body,
                             std::error_code& error) {
  return post(url, content_type, std::move(body), context::background(), error);
}
client_response client::post(std::string_view url, std::string_view content_type, request_body body,
                             const context& ctx, std::error_code& error) {
  return send(make_post(url, content_type, std::move(body), ctx), error);
}

void client::close_idle() { pool_->close_idle(); }
std::size_t client::idle_connections() const { return pool_->idle_connections(); }

}  // namespace sley::http
