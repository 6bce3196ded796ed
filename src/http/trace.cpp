// https://www.w3.org/TR/trace-context/
#include <sley/http/trace.hpp>

#include <sys/random.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <system_error>
#include <utility>

namespace sley::http {

namespace {

constexpr std::string_view key = "sley.http.trace";
constexpr std::string_view digits = "0123456789abcdef";
constexpr unsigned sampled = 1;  // of the flags

// 55 characters: the version, the trace's id, the parent's id, the flags.
constexpr std::size_t trace_at = 3;
constexpr std::size_t parent_at = 36;
constexpr std::size_t flags_at = 53;
constexpr std::size_t whole = 55;

bool is_zero(std::span<const std::byte> id) noexcept {
  return std::all_of(id.begin(), id.end(), [](std::byte b) { return b == std::byte(0); });
}

// Reads as many pairs of digits as there is room for. False: there is something else.
bool read_hex(std::string_view text, std::span<std::byte> to) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t high = digits.find(text[2 * i]);
    const std::size_t low = digits.find(text[2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return false;
    to[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

void append_hex(std::string& to, std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) {
    to += digits[std::to_integer<unsigned>(b) / 16];
    to += digits[std::to_integer<unsigned>(b) % 16];
  }
}

void fill_by_chance(std::span<std::byte> id) {
  do {
    if (std::cmp_not_equal(::getrandom(id.data(), id.size(), 0), id.size())) {
      throw std::system_error(errno, std::system_category(), "sley: getrandom");
    }
  } while (is_zero(id));
}

}  // namespace

std::optional<trace_parent> trace_parent::parse(std::string_view text) noexcept {
  if (text.size() < whole) return std::nullopt;
  for (const std::size_t at : {trace_at, parent_at, flags_at}) {
    if (text[at - 1] != '-') return std::nullopt;
  }
  trace_parent p;
  std::byte version[1];
  std::byte flags[1];
  const bool is_hex = read_hex(text, version) && read_hex(text.substr(trace_at), p.trace_id) &&
                      read_hex(text.substr(parent_at), p.parent_id) &&
                      read_hex(text.substr(flags_at), flags);
  if (!is_hex || version[0] == std::byte(0xff)) return std::nullopt;
  const bool may_go_on = version[0] != std::byte(0) && text.substr(whole).starts_with('-');
  if (text.size() != whole && !may_go_on) return std::nullopt;
  if (is_zero(p.trace_id) || is_zero(p.parent_id)) return std::nullopt;
  p.is_sampled = (std::to_integer<unsigned>(flags[0]) & sampled) != 0;
  return p;
}

std::string trace_parent::to_string() const {
  std::string text = "00-";
  append_hex(text, trace_id);
  text += '-';
  append_hex(text, parent_id);
  return text += is_sampled ? "-01" : "-00";
}

trace_parent trace_parent::make(bool is_sampled) {
  trace_parent p;
  fill_by_chance(p.trace_id);
  fill_by_chance(p.parent_id);
  p.is_sampled = is_sampled;
  return p;
}

trace_parent trace_parent::child() const {
  trace_parent p = *this;
  fill_by_chance(p.parent_id);
  return p;
}

std::optional<trace_context> trace_of(const fields& headers) {
  const auto parents = headers.all("traceparent");
  if (parents.size() != 1) return std::nullopt;
  const auto parent = trace_parent::parse(parents.front());
  if (!parent) return std::nullopt;
  trace_context trace{.parent = *parent};
  for (const std::string_view state : headers.all("tracestate")) {
    if (!trace.state.empty() && !state.empty()) trace.state += ',';
    trace.state += state;
  }
  return trace;
}

void set_trace(fields& headers, const trace_context& trace) {
  headers.set("traceparent", trace.parent.to_string());
  headers.erase("tracestate");
  if (!trace.state.empty()) headers.add("tracestate", trace.state);
}

context with_trace(const context& parent, trace_context trace) {
  return with_value(parent, key, std::move(trace));
}
const trace_context* trace_in(const context& ctx) noexcept { return ctx.value<trace_context>(key); }

}  // namespace sley::http
