#include "http/websocket_handshake.hpp"

#include "http/authority.hpp"
#include "http/text.hpp"

#include <sley/http/error.hpp>
#include <sley/http/fields.hpp>
#include <sley/http/request.hpp>
#include <sley/http/url.hpp>

#include <algorithm>

namespace sley::http::detail {

namespace {

// 16 bytes in base64: the last digit before the padding has only two bits of them.
bool is_key(std::string_view text) {
  if (text.size() != 24 || !text.ends_with("==")) return false;
  const std::string_view digits = text.substr(0, 22);
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
           c == '/';
  };
  return std::ranges::all_of(digits, is_digit) &&
         std::string_view("AQgw").find(digits.back()) != std::string_view::npos;
}

// Is the page from this server? Where Host has no port it is that of the page's scheme, because
// something in front of this server may do the TLS. An origin has no path (RFC 6454, 6.2).
bool is_same_host(std::string_view origin, std::string_view host) {
  const auto from = url::try_parse(origin);
  const auto ours = parse_authority(host);
  if (!from || !ours || from->scheme + "://" + from->host_header() != to_small(origin)) {
    return false;
  }
  return to_small(ours->host) == from->host && ours->port.value_or(from->port) == from->port;
}

}  // namespace

void check_upgrade(const request& in, bool any_origin) {
  const fields& headers = in.headers();
  if (in.version() < 11 || !headers.has_token("Connection", "Upgrade") ||
      !headers.has_token("Upgrade", "websocket")) {
    throw status_error(426, "this is for WebSocket only");
  }
  if (in.header("Sec-WebSocket-Version") != "13") throw status_error(426);
  if (!is_key(in.header("Sec-WebSocket-Key"))) throw status_error(400);
  for (const char* single : {"Sec-WebSocket-Key", "Sec-WebSocket-Version", "Origin"}) {
    if (headers.all(single).size() > 1) throw status_error(400);
  }
  const auto origin = headers.find("Origin");
  if (!any_origin && origin && !is_same_host(*origin, in.host())) throw status_error(403);
}

std::string choose_protocol(const request& in, std::string_view ours) {
  const auto is_offered = [&](std::string_view protocol) {
    for (const std::string_view offered : in.headers().all("Sec-WebSocket-Protocol")) {
      if (any_in_list(offered, [&](std::string_view o) { return o == protocol; })) {
        return true;
      }
    }
    return false;
  };
  std::string chosen;
  any_in_list(ours, [&](std::string_view protocol) {
    if (is_offered(protocol)) chosen = protocol;
    return !chosen.empty();
  });
  return chosen;
}

}  // namespace sley::http::detail
