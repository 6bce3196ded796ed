// For models.
#pragma once

#include "platform/futex.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sley::platform {

inline void yield_thread() { rl::ctx().yield(1, $); }

inline std::size_t page_bytes() { return 4096; }

// Of an execution; it begins with none.
inline std::size_t mapped_bytes = 0;

inline void* map_memory(std::size_t bytes, bool) {
  alignas(64) static char all[std::size_t{1} << 23];
  RL_ASSERT(bytes <= sizeof(all) - mapped_bytes);
  mapped_bytes += bytes;
  return all + mapped_bytes - bytes;
}

inline void* map_huge_pages(std::size_t bytes) { return map_memory(bytes, true); }
inline void unmap_memory(void*, std::size_t) {}
enum class guard : unsigned char { none, advised, split };
inline guard install_guard(void*, std::size_t) { return guard::advised; }
inline std::uint64_t install_guards(char*, std::size_t, std::size_t, std::uint64_t which) {
  return which;
}
inline void forget_guard(guard) {}
// A thread that still needs the old bytes does not find them.
inline void discard_memory(void* start, std::size_t bytes) { std::memset(start, 0xdd, bytes); }

}  // namespace sley::platform
