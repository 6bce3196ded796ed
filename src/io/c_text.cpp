#include <sley/detail/c_text.hpp>

#include <sley/detail/escape.hpp>

#include <cstddef>

namespace sley::detail {

namespace {

// The first `most` bytes of a longer text, without the beginning of a character at their end.
std::string_view beginning(std::string_view text, std::size_t most) {
  const auto is_inside = [&](std::size_t i) { return (text[i] & 0xc0) == 0x80; };
  std::size_t end = most;
  for (int i = 0; i < 3 && is_inside(end); ++i) --end;
  return text.substr(0, is_inside(end) ? most : end);
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t most = 200;
  std::string shown = "\"";
  escape(text.size() > most ? beginning(text, most) : text,
         [&](std::string_view piece) { shown += piece; });
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
