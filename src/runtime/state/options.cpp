
#include "runtime/state/options.hpp"

#include "base/print.hpp"
#include "parts/stack_pool.hpp"
#include "platform/cpu_limit.hpp"
#include "platform/os.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace sley::rt {

namespace {

constexpr std::size_t default_stack_bytes = 256 * 1024;

std::optional<std::string_view> setting(const char* name) noexcept {
  const char* text = secure_getenv(name);
  if (text == nullptr) return std::nullopt;
  return text;
}

// A whole number with an optional suffix that stands for a power of 1024.
std::optional<std::uint64_t> parse(std::string_view text, bool with_suffix) noexcept {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  if (rest == end) return value;
  if (!with_suffix || rest + 1 != end) return std::nullopt;
  unsigned shift = 0;
  switch (*rest) {
    case 'K':
    case 'k': shift = 10; break;
    case 'M':
    case 'm': shift = 20; break;
    case 'G':
    case 'g': shift = 30; break;
    default: return std::nullopt;
  }
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

void complain(const char* name, std::string_view value, const char* expected) noexcept {
  base::line_writer line;
  line.text("sley: ").text(name).text("=").shown(value.substr(0, 100));
  line.text(" ignored: expected ").text(expected).text("\n").flush(2);
}

}  // namespace

procs_setting procs_option() noexcept {
  const std::uint32_t automatic = std::min(platform::automatic_procs(0), max_processors);
  if (const auto text = setting("SLEY_MAXPROCS")) {
    const auto n = parse(*text, false);
    if (n && *n >= 1 && *n <= max_processors) {
      return {static_cast<std::uint32_t>(*n), automatic, true};
    }
    complain("SLEY_MAXPROCS", *text, "a number from 1 to 256");
  }
  return {automatic, automatic, false};
}

namespace {

constexpr std::int64_t ms = 1'000'000;

debug_settings debug;  // [const] after boot

// Reads one setting of SLEYDEBUG. Returns null, or the right form of it.
const char* set_debug(std::string_view name, std::string_view text) noexcept {
  constexpr std::uint64_t longest_ms = 3'600'000;
  const std::optional<std::uint64_t> value = parse(text, false);
  if (name == "schedtrace") {
    if (!value || *value > longest_ms) return "schedtrace= and milliseconds, an hour at most";
    debug.schedtrace_ns = static_cast<std::int64_t>(*value) * ms;
  } else if (name == "slice") {
    if (!value || *value < 1 || *value > 100) return "slice= and milliseconds from 1 to 100";
    debug.slice_ns = static_cast<std::int64_t>(*value) * ms;
  } else if (name == "schedsample") {
    constexpr std::uint64_t most = 1'000'000'000;
    if (!value || *value < 1 || *value > most) return "schedsample= and a number up to a billion";
    debug.sched_sample = static_cast<std::uint32_t>(*value);
  } else if (name == "scheddetail") {
    if (!value || *value > 1) return "scheddetail= and 0 or 1";
    debug.scheddetail = *value == 1;
  } else if (name == "asyncpreemptoff") {
    if (!value || *value > 1) return "asyncpreemptoff= and 0 or 1";
    debug.async_preempt = *value == 0;
  } else if (name == "reserveoff") {
    if (!value || *value > 1) return "reserveoff= and 0 or 1";
    debug.keeps_reserve = *value == 0;
  } else if (name == "guardadviceoff") {
    if (!value || *value > 1) return "guardadviceoff= and 0 or 1";
    debug.advises_guards = *value == 0;
  } else if (name == "uring") {
    if (!value || *value > 1) return "uring= and 0 or 1";
    debug.batches_calls = *value == 1;
  } else if (name == "failurereportoff") {
    if (!value || *value > 1) return "failurereportoff= and 0 or 1";
    debug.reports_failures = *value == 0;
  } else if (name == "pageout") {
    constexpr std::uint64_t longest_s = 86'400;
    if (!value || *value < 5 || *value > longest_s) return "pageout= and seconds from 5 to 86400";
    debug.page_out_s = static_cast<std::uint32_t>(*value);
  } else if (name == "seqraces") {
    if (!value || *value > 1) return "seqraces= and 0 or 1";
    debug.finds_sequential_races = *value == 1;
  } else if (name == "flight") {
    if (text.empty() || text.size() >= debug_settings::flight_bytes) {
      return "flight= and the path of a file, 1023 bytes at most";
    }
    debug.flight[text.copy(debug.flight, text.size())] = '\0';
  } else {
    return "schedtrace, scheddetail, schedsample, slice, asyncpreemptoff, reserveoff, "
           "guardadviceoff, failurereportoff, pageout, uring or seqraces, each with = and a "
           "number, or flight= and a path";
  }
  return nullptr;
}

}  // namespace

void read_debug_settings() noexcept {
  std::string_view rest = setting("SLEYDEBUG").value_or(std::string_view());
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.empty()) continue;
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(equals + 1, one.size()));
    if (const char* expected = set_debug(one.substr(0, equals), value)) {
      complain("SLEYDEBUG", one, expected);
    }
  }
}

const debug_settings& debug_options() noexcept { return debug; }

std::size_t stack_bytes_option() noexcept {
  std::size_t bytes = default_stack_bytes;
  if (const auto text = setting("SLEY_STACK_SIZE")) {
    const auto n = parse(*text, true);
    if (n && *n >= parts::stack_pool::min_bytes && *n <= parts::stack_pool::max_bytes) {
      bytes = *n;
    } else {
      complain("SLEY_STACK_SIZE", *text, "16K to 64G, in bytes or with a suffix K, M or G");
    }
  }
  const std::size_t page = platform::page_bytes();
  return (bytes + page - 1) / page * page;
}

std::size_t main_stack_bytes(std::size_t default_bytes) noexcept {
  constexpr std::size_t without_limit = std::size_t{64} << 20;
  const std::size_t limit = platform::main_stack_bytes();
  return std::clamp(limit == 0 ? without_limit : limit, default_bytes,
                    parts::stack_pool::max_bytes);
}

}  // namespace sley::rt
