// Whatever SLEY_SEED holds, it is a seed that is written in the same way again, or refused. Run by
// `./dev fuzz seed SECONDS`.
#include "expect.hpp"
#include "testing/seed_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using sley_fuzz::expect;

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto number = sley::testing::parse_number(text)) {
    const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size() - 1);
    expect(std::to_string(*number) == text.substr(zeros), "it is the same number", text);
    expect(!sley::testing::names_choices(text), "a number is no choices", text);
  }
  if (const auto choices = sley::testing::parse_choices(text)) {
    expect(choices->to_text() == in_small_letters(text), "they are the same choices", text);
  }
  return 0;
}
