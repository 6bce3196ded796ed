#include "http/client_redirect.hpp"

#include <sley/http/error.hpp>

#include <string_view>

namespace sley::http::detail {

namespace {

// Secrets for one server are told to no other server, except to its subdomains. Secrets that went
// encrypted are never sent in the clear.
bool may_know_secrets(const url& from, const url& to) {
  if (from.scheme == "https" && to.scheme != "https") return false;
  if (from.host == to.host) return true;
  const bool is_address = from.host.find(':') != std::string::npos ||
                          from.host.find_last_not_of("0123456789.") == std::string::npos;
  return !is_address && to.host.ends_with('.' + from.host);
}

void erase_all(fields& headers, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) headers.erase(name);
}

}  // namespace

std::optional<hop> redirect(const hop& from, const response_head& answer, std::error_code& error) {
  const int status = answer.status;
  const bool becomes_get = status == 301 || status == 302 || status == 303;
  if (!becomes_get && status != 307 && status != 308) return std::nullopt;
  if (!becomes_get && client_access::is_source(from.body)) return std::nullopt;
  const std::string_view location = answer.headers.get("Location");
  if (location.empty()) return std::nullopt;
  auto to = from.to.resolve(location);
  if (!to) {
    error = errc::malformed;
    return std::nullopt;
  }
  hop next = from;
  if (becomes_get) {
    if (next.method != "HEAD") next.method = "GET";
    next.body = {};
    erase_all(next.headers, {"Content-Type", "Content-Encoding", "Content-Language",
                             "Content-Location", "Expect"});
  }
  if (!may_know_secrets(from.to, *to)) {
    erase_all(next.headers, {"Authorization", "Cookie", "Cookie2", "Proxy-Authorization",
                             "Proxy-Authenticate", "WWW-Authenticate"});
  }
  if (to->host_header() != from.to.host_header()) next.headers.erase("Host");
  next.to = *std::move(to);
  return next;
}

}  // namespace sley::http::detail
