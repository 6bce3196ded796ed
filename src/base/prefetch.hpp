// Prefetches the memory of an object. A function that only prefetches is always inlined here,
// because g++ takes its call for one without effect and drops it.
#pragma once

#include <cstddef>

namespace sley::base {

template <class T>
[[gnu::always_inline]] inline void prefetch(const T* object) noexcept {
  const auto* start = reinterpret_cast<const char*>(object);
  for (std::size_t at = 0; at < sizeof(T); at += 64) __builtin_prefetch(start + at);
}

}  // namespace sley::base
