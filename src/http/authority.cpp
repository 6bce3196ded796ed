#include "http/authority.hpp"

#include "http/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace sley::http::detail {

namespace {

constexpr std::array<bool, 256> table_of(std::string_view others) {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : others) table[static_cast<unsigned char>(c)] = true;
  return table;
}

constexpr std::array<bool, 256> unreserved = table_of("-._~");
constexpr std::array<bool, 256> name_characters = table_of("-._~!$&'()*+,;=");

bool is_encoded_at(std::string_view text, std::size_t percent) noexcept {
  return percent + 2 < text.size() && hex_value(text[percent + 1]) >= 0 &&
         hex_value(text[percent + 2]) >= 0;
}

// Only these characters and what is percent-encoded.
bool consists_of(std::string_view text, const std::array<bool, 256>& allowed) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (!is_encoded_at(text, i)) return false;
      i += 2;
    } else if (!allowed[static_cast<unsigned char>(text[i])]) {
      return false;
    }
  }
  return true;
}

bool is_ipv6(std::string_view text) noexcept {
  char copy[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof copy || text.find('\0') != std::string_view::npos) return false;
  *std::copy(text.begin(), text.end(), copy) = '\0';
  in6_addr ignored;
  return ::inet_pton(AF_INET6, copy, &ignored) == 1;
}

// What is between the brackets. The '%' in front of a zone must be encoded itself; one that can't
// be the beginning of an encoded character stands for itself (RFC 6874, 3).
bool parse_literal(std::string_view text, authority& into) noexcept {
  const std::size_t percent = text.find('%');
  into.host = text.substr(0, percent);
  if (!is_ipv6(into.host)) return false;
  if (percent == std::string_view::npos) return true;
  const bool is_encoded = is_encoded_at(text, percent);
  if (is_encoded && text.substr(percent, 3) != "%25") return false;
  into.zone = text.substr(percent + (is_encoded ? 3 : 1));
  return !into.zone.empty() && consists_of(into.zone, unreserved);
}

}  // namespace

std::optional<authority> parse_authority(std::string_view text) noexcept {
  authority result;
  std::size_t end_of_host = std::min(text.find(':'), text.size());
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    if (!parse_literal(text.substr(1, bracket - 1), result)) return std::nullopt;
    end_of_host = bracket + 1;
  } else {
    result.host = text.substr(0, end_of_host);
    if (!consists_of(result.host, name_characters)) return std::nullopt;
  }
  if (result.host.empty()) return std::nullopt;
  const std::string_view rest = text.substr(end_of_host);
  if (rest.empty()) return result;
  if (rest.front() != ':') return std::nullopt;
  result.has_port_mark = true;
  if (rest.size() == 1) return result;
  const auto port = parse_decimal(rest.substr(1));
  if (!port || *port > 65'535) return std::nullopt;
  result.port = static_cast<std::uint16_t>(*port);
  return result;
}

bool is_request_authority(std::string_view text) noexcept {
  const auto parsed = parse_authority(text);
  return parsed && parsed->zone.empty() && parsed->has_port_mark == parsed->port.has_value();
}

}  // namespace sley::http::detail
