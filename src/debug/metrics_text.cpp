// https://prometheus.io/docs/instrumenting/exposition_formats/#text-format-details
#include <sley/debug.hpp>
#include <sley/detail/c_text.hpp>
#include <sley/detail/escape.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

namespace sley::debug {

namespace {

[[noreturn]] void refuse(const metric& m, const char* why) {
  throw std::invalid_argument("sley::debug::metrics_text: " + detail::quoted(m.name) + why);
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Letters, digits, and the characters in `more`; no digit in front.
bool is_name(std::string_view text, std::string_view more) {
  const auto is_good = [more](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, is_good);
}

std::string_view name_of(const metric& m) {
  switch (m.what) {
    case metric::kind::counter: return "counter";
    case metric::kind::gauge: return "gauge";
    case metric::kind::histogram: return "histogram";
  }
  refuse(m, " is of no kind that there is");
}

bool ascend(const std::vector<double>& bounds) {
  const auto is_no_step = [](double a, double b) { return !(a < b); };
  return std::ranges::adjacent_find(bounds, is_no_step) == bounds.end() &&
         (bounds.empty() || std::isfinite(bounds.front() + bounds.back()));
}

void check(const metric& m) {
  if (!is_name(m.name, ":")) refuse(m, " is no name of a metric");
  const bool is_histogram = m.what == metric::kind::histogram;
  for (const metric::label& l : m.labels) {
    const bool is_reserved = l.name.starts_with("__") || (is_histogram && l.name == "le");
    if (!is_name(l.name, "") || is_reserved) refuse(m, " has a label whose name can't be one");
    const auto has_its_name = [&l](const metric::label& other) { return other.name == l.name; };
    if (std::ranges::count_if(m.labels, has_its_name) > 1) refuse(m, " has a label twice");
  }
  if (!is_histogram) return;
  const histogram& d = m.distribution;
  if (d.counts.size() != d.bounds.size() + 1) refuse(m, " has more or fewer counts than ranges");
  if (!ascend(d.bounds)) refuse(m, " has bounds that do not ascend");
}

// On one line, and in valid UTF-8: what is not plain is escaped twice, so that the reader sees how
// sley's own lines show it.
std::string escaped(std::string_view text, bool is_quoted) {
  std::string result;
  while (!text.empty()) {
    std::size_t size = 1;
    if (text[0] == '\n') {
      result += "\\n";
    } else if (text[0] == '\\' || (is_quoted && text[0] == '"')) {
      result.append("\\").append(text, 0, 1);
    } else if (const std::size_t plain = detail::plain_bytes(text); plain != 0) {
      result.append(text, 0, plain);
      size = plain;
    } else {
      result += '\\';
      detail::put_escaped(text[0], [&result](std::string_view piece) { result += piece; });
    }
    text.remove_prefix(size);
  }
  return result;
}

std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  constexpr double all_are_exact = 1LL << 53;
  const bool is_whole = std::abs(value) < all_are_exact && std::trunc(value) == value;
  const auto [end, error] =
      is_whole ? std::to_chars(text, text + sizeof text, static_cast<long long>(value))
               : std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

std::string label_text(const metric::label& l) {
  return std::string(l.name) + "=\"" + escaped(l.value, true) + '"';
}

// "", or `{state="running",p="1"}`; `more` is another label's text, or empty.
std::string braced(const std::vector<metric::label>& labels, const std::string& more) {
  std::string text;
  for (const metric::label& l : labels) text += (text.empty() ? "" : ",") + label_text(l);
  if (!more.empty()) text += (text.empty() ? "" : ",") + more;
  return text.empty() ? text : '{' + text + '}';
}

void append_line(std::string& text, const metric& m, std::string_view suffix,
                 const std::string& labels, double value) {
  text.append(m.name).append(suffix).append(labels).append(" ").append(to_text(value)).append("\n");
}

// The counts of the ranges add up: each line has the values up to its bound.
void append_histogram(std::string& text, const metric& m) {
  const histogram& d = m.distribution;
  double count = 0;
  for (std::size_t i = 0; i < d.counts.size(); ++i) {
    count += static_cast<double>(d.counts[i]);
    const std::string bound = i < d.bounds.size() ? to_text(d.bounds[i]) : "+Inf";
    append_line(text, m, "_bucket", braced(m.labels, "le=\"" + bound + '"'), count);
  }
  const std::string labels = braced(m.labels, "");
  append_line(text, m, "_sum", labels, d.sum);
  append_line(text, m, "_count", labels, count);
}

using family = std::vector<std::reference_wrapper<const metric>>;

// Metrics of one name taken together, in the order of the first ones.
std::vector<family> families_of(std::span<const metric> all) {
  std::vector<family> families;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const metric& m : all) {
    const auto [at, is_new] = places.try_emplace(m.name, families.size());
    if (is_new) families.emplace_back();
    families[at->second].emplace_back(m);
  }
  return families;
}

void append_family(std::string& text, const family& metrics) {
  const metric& first = metrics.front();
  text.append("# HELP ").append(first.name).append(" ").append(escaped(first.help, false));
  text.append("\n# TYPE ").append(first.name).append(" ").append(name_of(first)).append("\n");
  std::set<std::set<std::string>> known;
  for (const metric& m : metrics) {
    check(m);
    if (m.what != first.what) refuse(m, " is of two kinds");
    std::set<std::string> labels;
    for (const metric::label& l : m.labels) labels.insert(label_text(l));
    if (!known.insert(std::move(labels)).second) refuse(m, " is there twice with the same labels");
    if (m.what == metric::kind::histogram) {
      append_histogram(text, m);
    } else {
      append_line(text, m, "", braced(m.labels, ""), m.value);
    }
  }
}

}  // namespace

std::string metrics_text(std::span<const metric> all) {
  std::string text;
  for (const family& metrics : families_of(all)) append_family(text, metrics);
  return text;
}

}  // namespace sley::debug
