#include "testing/seed_text.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace sley::testing {

namespace {

void append_digits(std::string& text, std::uint8_t number) {
  constexpr char digits[] = "0123456789abcdef";
  text += digits[number >> 4];
  text += digits[number & 15];
}

// The whole text is a number, and it fits.
template <class Number>
std::optional<Number> parse_whole(std::string_view text, int base) noexcept {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::string choices_seed::to_text() const {
  std::string text = "x";
  append_digits(text, preemptions);
  for (const std::uint8_t choice : choices) append_digits(text, choice);
  return text;
}

std::optional<choices_seed> parse_choices(std::string_view text) {
  constexpr std::size_t digits = 2;
  if (!names_choices(text) || text.size() < 1 + digits || text.size() % digits == 0) {
    return std::nullopt;
  }
  choices_seed seed;
  for (std::size_t at = 1; at < text.size(); at += digits) {
    const auto number = parse_whole<std::uint8_t>(text.substr(at, digits), 16);
    if (!number) return std::nullopt;
    if (at == 1) {
      seed.preemptions = *number;
    } else {
      seed.choices.push_back(*number);
    }
  }
  return seed;
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
  return parse_whole<std::uint64_t>(text, 10);
}

}  // namespace sley::testing
