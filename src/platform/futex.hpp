// futex(2) on the atomic word itself; a seam, because in the models the model checker plays the
// kernel (tests/model).
#pragma once

#include <sley/detail/atomic.hpp>

#include "platform/decisions.hpp"
#include "platform/os.hpp"

#include <cstdint>

namespace sley::platform {

inline constexpr std::int64_t forever = INT64_MAX;

// Holders keep a lock for tens of nanoseconds, unless the kernel took their CPU.
inline constexpr int tries_before_sleep = 4;
inline constexpr int pauses_between_tries = 100;  // one to three microseconds
// A wake that was announced comes within some tens of microseconds.
inline constexpr int looks_after_nudge = 30;

// As futex_wait and futex_wake of os.hpp.
inline void futex_wait(detail::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t deadline_ns) noexcept {
  if (!wakes_for_nothing()) futex_wait(word.address(), expected, deadline_ns);
}
inline void futex_wake(detail::atomic<std::uint32_t>& word, int count) noexcept {
  futex_wake(word.address(), count);
}

}  // namespace sley::platform
