#include <sley/detail/c_text.hpp>

#include <cstddef>

namespace sley::detail {

namespace {

void append_shown(std::string& to, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\0') {
    to += "\\0";
  } else if (c == '\n') {
    to += "\\n";
  } else if (c == '\r') {
    to += "\\r";
  } else if (c == '\t') {
    to += "\\t";
  } else if (byte < ' ' || byte == 0x7f) {
    to += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  } else {
    to += c;
  }
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string shown = "\"";
  for (const char c : text.substr(0, most)) append_shown(shown, c);
  shown += text.size() > most ? "...\" of " + std::to_string(text.size()) + " bytes" : "\"";
  const std::size_t first = text.find('\0');
  if (first != std::string_view::npos) {
    shown += " with a zero byte at position " + std::to_string(first);
  }
  return shown;
}

std::system_error failed(const std::error_code& error, const char* operation,
                         std::string_view object) {
  return {error, std::string(operation) + ' ' + quoted(object)};
}

}  // namespace sley::detail
