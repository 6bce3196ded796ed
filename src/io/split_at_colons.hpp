// Lists in environment variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sley::io {

// The parts of a list with ':' between them: one more than it has colons.
inline std::vector<std::string> split_at_colons(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {  // ends with the list
    const std::size_t colon = list.find(':');
    parts.emplace_back(list.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    list.remove_prefix(colon + 1);
  }
}

}  // namespace sley::io
