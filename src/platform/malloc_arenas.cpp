#include "platform/malloc_arenas.hpp"

#include <algorithm>

namespace sley::platform {

bool has_arena_setting(std::string_view tunables) noexcept {
  constexpr std::string_view prefix = "glibc.malloc.arena_";
  while (!tunables.empty()) {
    const std::string_view one = tunables.substr(0, tunables.find(':'));
    if (one.starts_with(prefix)) return true;
    tunables.remove_prefix(std::min(one.size() + 1, tunables.size()));
  }
  return false;
}

std::uint32_t malloc_arenas_for(std::uint32_t cpus) noexcept {
  return std::max<std::uint32_t>(4, 2 * std::min(cpus, UINT32_MAX / 2));
}

}  // namespace sley::platform
