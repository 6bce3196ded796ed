// Whatever the patterns of a router are, a request gets to the one that is most specific among
// those that match it, and the order in which they were added makes no difference. Run by `./dev
// fuzz http_route SECONDS`. The input: a path and up to eight patterns, with zero bytes between
// them.
#include "expect.hpp"
#include "http/route_tree.hpp"
#include "support/memory_connection.hpp"

#include <sley/http.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sley::http::detail::compare;
using sley::http::detail::pattern;
using sley::http::detail::relation;
using sley_fuzz::expect;

std::optional<pattern> parse(std::string_view text) {
  try {
    return pattern::parse("GET", text);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

// By the words of <sley/http/router.hpp>, segment by segment.
bool matches(const pattern& p, std::string_view path) {
  path.remove_prefix(1);
  for (std::size_t i = 0; i < p.segments.size(); ++i) {
    const pattern::segment& s = p.segments[i];
    if (s.what == pattern::kind::rest) return true;
    const std::size_t slash = path.find('/');
    const std::string segment = sley::http::percent_decode(path.substr(0, slash)).value_or("");
    const bool fits = s.what == pattern::kind::any ? !segment.empty() : segment == s.text;
    const bool is_last = i + 1 == p.segments.size();
    if (!fits || is_last != (slash == std::string_view::npos)) return false;
    if (!is_last) path.remove_prefix(slash + 1);
  }
  return true;
}

relation mirrored(relation r) {
  if (r == relation::more_specific) return relation::more_general;
  return r == relation::more_general ? relation::more_specific : r;
}

// Returns the patterns that were taken.
std::vector<pattern> add(sley::http::router& r, const std::vector<pattern>& patterns) {
  std::vector<pattern> taken;
  for (const pattern& p : patterns) {
    bool is_refused = false;
    for (const pattern& other : taken) {
      const relation to = compare(p, other);
      expect(compare(other, p) == mirrored(to), "a relation has two sides", p.path);
      is_refused = is_refused || to == relation::equal || to == relation::overlapping;
    }
    try {
      r.get(p.path, [path = p.path](sley::http::request&, sley::http::response& out) {
        out.send(200, "", path);
      });
      expect(!is_refused, "what can't be told apart is refused", p.path);
      taken.push_back(p);
    } catch (const std::logic_error&) {
      expect(is_refused, "what can be told apart is taken", p.path);
    }
  }
  return taken;
}

std::string body_of(sley::http::router r, std::string_view path) {
  sley::http::server server(std::move(r));
  const std::string request = "GET " + std::string(path) + " HTTP/1.0\r\n\r\n";
  const std::string answer = sley_test::answers_of(server, request, SIZE_MAX);
  const std::size_t end = answer.find("\r\n\r\n");
  expect(end != std::string::npos, "there is an answer", answer);
  return answer.starts_with("HTTP/1.1 200 ") ? answer.substr(end + 4) : "";
}

bool is_path(std::string_view path) {
  const auto is_bad = [](char c) { return c <= ' ' || c == '?' || c == '#' || c >= 0x7f; };
  return path.starts_with('/') && std::ranges::none_of(path, is_bad) &&
         sley::http::percent_decode(path).has_value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sley_fuzz::parts input(data, size);
  const std::string_view path = input.next();
  std::vector<pattern> patterns;
  for (int i = 0; i < 8 && !input.empty(); ++i) {
    if (auto p = parse(input.next())) patterns.push_back(std::move(*p));
  }
  sley::http::router forwards;
  const std::vector<pattern> taken = add(forwards, patterns);
  if (!is_path(path) || path.size() > 4000) return 0;
  const std::string found = body_of(forwards, path);
  const pattern* best = nullptr;
  for (const pattern& p : taken) {
    if (!matches(p, path)) continue;
    if (best == nullptr || compare(p, *best) == relation::more_specific) best = &p;
  }
  expect(found == (best == nullptr ? "" : best->path), "the most specific that matches", found);
  sley::http::router backwards;
  for (auto p = taken.rbegin(); p != taken.rend(); ++p) {
    backwards.get(p->path, [text = p->path](sley::http::request&, sley::http::response& out) {
      out.send(200, "", text);
    });
  }
  expect(body_of(backwards, path) == found, "the order makes no difference", path);
  return 0;
}
