#include "http/route_tree.hpp"
#include "http/text.hpp"

#include <sley/detail/c_text.hpp>

#include <algorithm>
#include <stdexcept>

namespace sley::http::detail {

namespace {

// The tree of routes is as deep as its longest pattern, and walked by recursion on a goroutine's
// stack.
constexpr std::size_t most_segments = 128;

pattern::segment parse_segment(std::string_view text, bool is_last, std::string_view whole) {
  const auto fail = [&](const char* why) {
    return std::invalid_argument("sley: the pattern " + sley::detail::quoted(whole) + ' ' + why);
  };
  if (text.starts_with('{') && text.ends_with('}')) {
    std::string_view name = text.substr(1, text.size() - 2);
    const bool is_rest = name.ends_with("...");
    if (is_rest) name.remove_suffix(3);
    if (name.empty() || name.find_first_of("{}.") != std::string_view::npos) {
      throw fail("has a parameter without a proper name");
    }
    if (is_rest && !is_last) throw fail("has {...} before its end");
    return {is_rest ? pattern::kind::rest : pattern::kind::any, std::string(name)};
  }
  if (text.find_first_of("{}") != std::string_view::npos) {
    throw fail("has a parameter that is not a whole segment");
  }
  auto decoded = percent_decode(text);
  if (!decoded) throw fail("is not properly encoded");
  return {pattern::kind::literal, std::move(*decoded)};
}

// Of two relations that both hold, for different parts of a pattern.
relation both(relation a, relation b) {
  if (a == relation::disjoint || b == relation::disjoint) return relation::disjoint;
  if (a == relation::equal) return b;
  if (b == relation::equal || a == b) return a;
  return relation::overlapping;
}

relation compare_segments(const pattern::segment& a, const pattern::segment& b) {
  const bool is_literal = a.what == pattern::kind::literal;
  if (a.what == b.what) {
    return !is_literal || a.text == b.text ? relation::equal : relation::disjoint;
  }
  // A parameter matches anything but nothing.
  if ((is_literal ? a : b).text.empty()) return relation::disjoint;
  return is_literal ? relation::more_specific : relation::more_general;
}

relation compare_paths(const pattern& a, const pattern& b) {
  relation so_far = relation::equal;
  for (std::size_t i = 0;; ++i) {  // ends with the shorter of them
    const bool a_ends = i == a.segments.size();
    const bool b_ends = i == b.segments.size();
    if (a_ends && b_ends) return so_far;
    if (a_ends || b_ends) return relation::disjoint;
    const bool a_rest = a.segments[i].what == pattern::kind::rest;
    const bool b_rest = b.segments[i].what == pattern::kind::rest;
    if (a_rest && b_rest) return so_far;
    if (a_rest) return both(so_far, relation::more_general);
    if (b_rest) return both(so_far, relation::more_specific);
    so_far = both(so_far, compare_segments(a.segments[i], b.segments[i]));
  }
}

relation compare_methods(std::string_view a, std::string_view b) {
  if (a == b) return relation::equal;
  if (a.empty() || (a == "GET" && b == "HEAD")) return relation::more_general;
  if (b.empty() || (b == "GET" && a == "HEAD")) return relation::more_specific;
  return relation::disjoint;
}

}  // namespace

pattern pattern::parse(std::string_view method, std::string_view path) {
  pattern p{std::string(method), std::string(path), {}};
  if (!path.starts_with('/')) {
    throw std::invalid_argument("sley: the pattern " + sley::detail::quoted(path) +
                                " does not begin with '/'");
  }
  if (!method.empty() && !is_token(method)) {
    throw std::invalid_argument("sley: " + sley::detail::quoted(method) + " is no method");
  }
  std::string_view left = path.substr(1);
  for (bool is_last = false; !is_last;) {
    const std::size_t slash = left.find('/');
    is_last = slash == std::string_view::npos;
    segment next = parse_segment(left.substr(0, slash), is_last, path);
    const auto is_same = [&](const segment& s) {
      return s.what != kind::literal && s.text == next.text;
    };
    if (next.what != kind::literal && std::ranges::any_of(p.segments, is_same)) {
      throw std::invalid_argument("sley: the pattern " + sley::detail::quoted(path) +
                                  " has the parameter " + sley::detail::quoted(next.text) +
                                  " twice");
    }
    if (p.segments.size() == most_segments) {
      throw std::invalid_argument("sley: the pattern " + sley::detail::quoted(path) +
                                  " has more than " + std::to_string(most_segments) + " segments");
    }
    p.segments.push_back(std::move(next));
    if (!is_last) left.remove_prefix(slash + 1);
  }
  return p;
}

relation compare(const pattern& a, const pattern& b) {
  return both(compare_paths(a, b), compare_methods(a.method, b.method));
}

}  // namespace sley::http::detail
