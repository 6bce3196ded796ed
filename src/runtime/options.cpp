#include "runtime/options.hpp"

#include "base/print.hpp"
#include "parts/stack_pool.hpp"
#include "platform/os.hpp"
#include "runtime/sched_state.hpp"

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
  line.text("sley: ").text(name).text("=").text(value.substr(0, 100));
  line.text(" ignored: expected ").text(expected).text("\n").flush(2);
}

}  // namespace

std::uint32_t procs_option() noexcept {
  if (const auto text = setting("SLEY_MAXPROCS")) {
    const auto n = parse(*text, false);
    if (n && *n >= 1 && *n <= max_processors) return static_cast<std::uint32_t>(*n);
    complain("SLEY_MAXPROCS", *text, "a number from 1 to 256");
  }
  return std::min(static_cast<std::uint32_t>(platform::available_cpus()), max_processors);
}

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

}  // namespace sley::rt
