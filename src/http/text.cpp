#include "http/text.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace sley::http::detail {

namespace {

constexpr std::array<bool, 256> token_characters = [] {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<std::size_t>(c)] = true;
  return table;
}();

template <class... Args>
void append_number(std::string& to, std::uint64_t n, Args... base) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, n, base...).ptr;
  to.append(digits, end);
}

}  // namespace

bool is_token(std::string_view text) noexcept {
  for (const char c : text) {
    if (!token_characters[static_cast<unsigned char>(c)]) return false;
  }
  return !text.empty();
}

bool is_field_value(std::string_view text) noexcept {
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f') return false;
  }
  return true;
}

std::string_view trim(std::string_view text) noexcept {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string to_small(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = small(c);
  return result;
}

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = small(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::uint64_t> parse_decimal(std::string_view text) noexcept {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

void append_decimal(std::string& to, std::uint64_t n) { append_number(to, n); }
void append_hex(std::string& to, std::uint64_t n) { append_number(to, n, 16); }

}  // namespace sley::http::detail
