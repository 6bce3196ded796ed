// The authority of a URL, of a request's target and of a Host field: RFC 3986, 3.2. There is no
// other parser for it, so that two places never disagree on which server a text names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sley::http::detail {

// Views into the text that was parsed.
struct authority {
  std::string_view host;       // as written, without the brackets and the zone of an IPv6 address
  std::string_view zone;       // as written, behind "%25" (RFC 6874); empty if there is none
  bool has_port_mark = false;  // a ':' behind the host; the number may be missing
  std::optional<std::uint16_t> port;
};

// "host", "host:80", "host:", "[::1]:80", "[fe80::1%25eth0]". nullopt for all else: user
// information, a missing host, a port over 65535, characters that a host can't have, addresses of a
// future version of IP.
std::optional<authority> parse_authority(std::string_view text) noexcept;

// Can a Host field or a request's target have it? A zone means something on the client's machine
// alone, and a ':' needs a number behind it, because other programs read it in different ways.
bool is_request_authority(std::string_view text) noexcept;

}  // namespace sley::http::detail
