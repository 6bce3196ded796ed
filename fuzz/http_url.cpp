// Whatever a URL, a reference or a query is, it means the same after it was written down and read
// again. Run by `./dev fuzz http_url SECONDS`. The input: a URL, a reference and a query, with zero
// bytes between them.
#include "expect.hpp"
#include "http/authority.hpp"
#include "io/socket.hpp"

#include <sley/http.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace {

using sley::http::parameters;
using sley::http::url;
using sley_fuzz::expect;

bool is_plain(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0 \t\x7f", 6)) == std::string_view::npos;
}

void check(const url& u) {
  const std::string text = u.to_string();
  expect(is_plain(text), "nothing in a URL ends a line of a head", text);
  expect(!u.host.empty() && u.target.starts_with('/'), "host and target are there", text);
  expect(text.find('#') == std::string::npos, "fragments are dropped", text);
  const auto again = url::try_parse(text);
  expect(again.has_value(), "it is a URL still", text);
  expect(again->to_string() == text && again->host == u.host && again->port == u.port &&
             again->target == u.target && again->scheme == u.scheme,
         "it is the same URL", text);
  std::error_code error;
  const auto parts = sley::io::split_host_port(u.host_port(), error);
  expect(u.port == 0 || (!error && parts.host == u.host && parts.port == std::to_string(u.port)),
         "the host and the port are connected to", u.host_port());
}

// What an authority is taken apart into is all of it.
void check_authority(std::string_view text) {
  const auto named = sley::http::detail::parse_authority(text);
  const bool is_for_requests = sley::http::detail::is_request_authority(text);
  expect(!is_for_requests || named, "what a request may name is an authority", text);
  if (!named) return;
  expect(!named->host.empty() && is_plain(text), "it has a host, and ends no line", text);
  const bool is_clear = named->zone.empty() && named->has_port_mark == named->port.has_value();
  expect(!is_for_requests || is_clear, "a request names no zone, nor a port without number", text);
  std::string again(named->host);
  // A zone may also stand behind a bare '%', as people write it.
  if (!named->zone.empty()) {
    const bool is_encoded = text.substr(text.find('%')).starts_with("%25");
    again.append(is_encoded ? "%25" : "%").append(named->zone);
  }
  if (text.starts_with('[')) again = '[' + again + ']';
  expect(text.starts_with(again), "host and zone are its beginning", text);
  const std::string_view port = text.substr(again.size());
  expect(port.starts_with(':') == named->has_port_mark, "a port is behind a mark", text);
  expect(named->has_port_mark || port.empty(), "nothing is behind the host", text);
}

void check_parameters(std::string_view query) {
  const parameters p = parameters::parse(query);
  const parameters again = parameters::parse(p.to_string());
  expect(again.size() == p.size(), "no parameter is lost", query);
  for (auto a = p.begin(), b = again.begin(); a != p.end(); ++a, ++b) {
    expect(*a == *b, "a parameter is the same", query);
  }
}

void check_percent(std::string_view text) {
  expect(sley::http::percent_decode(sley::http::percent_encode(text)) == text,
         "what is encoded is decoded to the same", text);
  const auto decoded = sley::http::percent_decode(text);
  expect(!decoded || decoded->size() <= text.size(), "decoding does not add", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sley_fuzz::parts input(data, size);
  const std::string_view text = input.next();
  const std::string_view reference = input.next();
  check_parameters(input.rest());
  check_percent(input.rest());
  check_authority(reference);
  check_authority(input.rest());
  const auto u = url::try_parse(text);
  if (!u) return 0;
  check(*u);
  if (const auto there = u->resolve(reference)) check(*there);
  const auto self = u->resolve("");
  expect(self && self->to_string() == u->to_string(), "an empty reference is the page itself",
         text);
  return 0;
}
