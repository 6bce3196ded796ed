#include <sley/detail/c_text.hpp>

namespace sley::detail {

std::string quoted(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text) {
    if (c == '\0') {
      shown += "\\0";
    } else {
      shown += c;
    }
  }
  shown += '"';
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
