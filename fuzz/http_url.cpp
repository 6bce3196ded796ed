// Whatever a URL, a reference or a query is, it means the same after it was written down and read
// again. Run by `./dev fuzz http_url SECONDS`. The input: a URL, a reference and a query, with zero
// bytes between them.
#include "expect.hpp"
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
  expect(u.port == 0 || (!error && parts.host == u.host && parts.port == u.port),
         "the host and the port are connected to", u.host_port());
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
  const auto u = url::try_parse(text);
  if (!u) return 0;
  check(*u);
  if (const auto there = u->resolve(reference)) check(*there);
  const auto self = u->resolve("");
  expect(self && self->to_string() == u->to_string(), "an empty reference is the page itself",
         text);
  return 0;
}
