// Seeds as texts, as SLEY_SEED and report::seed have them: a number, or the choices of
// strategy::exhaustive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sley::testing {

// "x", the most preemptions, and the choices, all with two hexadecimal digits.
struct choices_seed {
  std::uint8_t preemptions = 0;
  std::vector<std::uint8_t> choices;

  std::string to_text() const;
};

inline bool names_choices(std::string_view text) noexcept { return text.starts_with('x'); }

// nullopt for what is none.
std::optional<choices_seed> parse_choices(std::string_view text);
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

}  // namespace sley::testing
