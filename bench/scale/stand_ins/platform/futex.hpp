// Takes the place of src/platform/futex.hpp in the model, whose CPUs are the kernel's.
#pragma once

#include "cpus.hpp"

#include <sley/detail/atomic.hpp>

#include <cstdint>

namespace sley::platform {

inline constexpr std::int64_t forever = INT64_MAX;
inline constexpr int tries_before_sleep = 4;
inline constexpr int pauses_between_tries = 100;

inline void futex_wait(detail::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t) noexcept {
  if (word.load_relaxed() == expected) scale::sleep_on(&word, scale::never);
}
inline void futex_wake(detail::atomic<std::uint32_t>& word, int count) noexcept {
  scale::wake_on(&word, count);
}

}  // namespace sley::platform
