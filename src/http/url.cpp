#include <sley/http/url.hpp>

#include "http/authority.hpp"
#include "http/text.hpp"

#include <sley/detail/c_text.hpp>

#include <algorithm>
#include <stdexcept>

namespace sley::http {

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = detail::hex_value(text[i + 1]);
      const int low = detail::hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  constexpr std::string_view unreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string result;
  for (const char c : text) {
    if (unreserved.find(c) != std::string_view::npos) {
      result += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      result += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result;
}

parameters parameters::parse(std::string_view text) {
  parameters result;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), true);
    auto value = percent_decode(
        equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1), true);
    if (!part.empty() && name && value) {
      result.pairs_.emplace_back(std::move(*name), std::move(*value));
    }
  }
  return result;
}

std::string_view parameters::get(std::string_view name) const noexcept {
  const auto found = std::ranges::find(pairs_, name, &value_type::first);
  return found == pairs_.end() ? std::string_view() : found->second;
}

bool parameters::contains(std::string_view name) const noexcept {
  return std::ranges::find(pairs_, name, &value_type::first) != pairs_.end();
}

std::vector<std::string_view> parameters::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [n, value] : pairs_) {
    if (n == name) values.push_back(value);
  }
  return values;
}

void parameters::add(std::string_view name, std::string_view value) {
  pairs_.emplace_back(name, value);
}

std::string parameters::to_string() const {
  std::string text;
  for (const auto& [name, value] : pairs_) {
    if (!text.empty()) text += '&';
    text += percent_encode(name) + '=' + percent_encode(value);
  }
  return text;
}

namespace {

std::uint16_t port_of_scheme(std::string_view scheme) noexcept {
  if (scheme == "http" || scheme == "ws") return 80;
  if (scheme == "https" || scheme == "wss") return 443;
  return 0;
}

// RFC 3986, 3.1.
bool is_scheme(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return detail::small(c) >= 'a' && detail::small(c) <= 'z'; };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

bool set_authority(url& into, std::string_view text) {
  const auto named = detail::parse_authority(text);
  if (!named || named->port == 0) return false;
  into.host = detail::to_small(named->host);
  if (named->port) into.port = *named->port;
  if (named->zone.empty()) return true;
  // Case matters in the name of an interface, and the system takes most characters.
  const auto zone = percent_decode(named->zone);
  const auto is_bad = [](char c) { return c <= ' ' || c >= 0x7f || c == '/'; };
  if (!zone || std::ranges::any_of(*zone, is_bad)) return false;
  into.host += '%' + *zone;
  return true;
}

// Path and query as a request has them. Characters that a URL can't have are encoded, as Go does;
// white space, controls and, in a path, a '%' that encodes nothing are refused.
bool set_target(url& into, std::string_view text) {
  constexpr std::string_view encoded = "\"<>\\^`{|}";
  const std::string_view path = text.substr(0, text.find('?'));
  if (path.find('%') != std::string_view::npos && !percent_decode(path)) return false;
  into.target = text.starts_with('/') ? "" : "/";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return false;
    if (byte >= 0x80 || encoded.find(c) != std::string_view::npos) {
      into.target += percent_encode({&c, 1});
    } else {
      into.target += c;
    }
  }
  return true;
}

enum class zone { as_it_is, encoded, left_out };

// An IPv6 address gets its brackets back.
std::string host_text(const std::string& host, zone form) {
  if (host.find(':') == std::string::npos) return host;
  const std::size_t percent = std::min(host.find('%'), host.size());
  std::string text = '[' + host.substr(0, percent);
  if (form == zone::as_it_is) text += host.substr(percent);
  if (form == zone::encoded && percent < host.size()) {
    text += "%25" + percent_encode(std::string_view(host).substr(percent + 1));
  }
  return text += ']';
}

}  // namespace

std::optional<url> url::try_parse(std::string_view text) {
  url result;
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return std::nullopt;
  result.scheme = detail::to_small(text.substr(0, colon));
  result.port = port_of_scheme(result.scheme);
  text = text.substr(colon + 3);
  text = text.substr(0, text.find('#'));
  const std::string_view authority = text.substr(0, text.find_first_of("/?"));
  const bool is_good = is_scheme(result.scheme) && set_authority(result, authority) &&
                       set_target(result, text.substr(authority.size()));
  return is_good ? std::optional(std::move(result)) : std::nullopt;
}

url url::parse(std::string_view text) {
  if (auto result = try_parse(text)) return *std::move(result);
  throw std::invalid_argument("sley: " + sley::detail::quoted(text) + " is no URL");
}

namespace {

// Takes "." and ".." out of a path: RFC 3986, 5.2.4.
std::string without_dots(std::string_view path) {
  std::string result;
  while (!path.empty()) {  // each round takes one segment with its slash
    const std::size_t end = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/.." || segment == "/.") {
      if (segment == "/..") result.resize(std::min(result.rfind('/'), result.size()));
      if (path.empty()) result += '/';
    } else {
      result += segment;
    }
  }
  return result.empty() ? "/" : result;
}

bool begins_with_scheme(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon < text.find_first_of("/?#") && is_scheme(text.substr(0, colon));
}

}  // namespace

std::optional<url> url::resolve(std::string_view reference) const {
  reference = reference.substr(0, reference.find('#'));
  if (begins_with_scheme(reference)) return try_parse(reference);
  if (reference.starts_with("//")) return try_parse(scheme + ':' + std::string(reference));
  std::string_view path = std::string_view(target).substr(0, target.find('?'));
  const std::size_t mark = std::min(reference.find('?'), reference.size());
  std::string whole(reference);
  if (reference.empty()) {
    whole = target;
  } else if (mark == 0) {
    whole = std::string(path) + whole;
  } else {
    if (!reference.starts_with('/')) path = path.substr(0, path.rfind('/') + 1);
    if (reference.starts_with('/')) path = {};
    whole = without_dots(std::string(path).append(reference.substr(0, mark)));
    whole += reference.substr(mark);
  }
  url result = *this;
  return set_target(result, whole) ? std::optional(std::move(result)) : std::nullopt;
}

std::string url::host_port() const {
  return host_text(host, zone::as_it_is) + ':' + std::to_string(port);
}

namespace {

std::string with_port(std::string host, const url& u) {
  if (u.port != port_of_scheme(u.scheme)) host += ':' + std::to_string(u.port);
  return host;
}

}  // namespace

std::string url::host_header() const { return with_port(host_text(host, zone::left_out), *this); }

std::string url::to_string() const {
  return scheme + "://" + with_port(host_text(host, zone::encoded), *this) + target;
}

}  // namespace sley::http
