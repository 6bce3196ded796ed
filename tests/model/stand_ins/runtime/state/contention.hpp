// For models of src/sync: no wait is profiled or counted.
#pragma once

#include <cstdint>

namespace sley::rt {

struct profile_that_is_off {
  static constexpr bool is_on() noexcept { return false; }
};
inline constexpr profile_that_is_off mutex_profile;

inline void count_lock_wait(std::int64_t) noexcept {}
inline void note_unlock(std::int64_t) noexcept { RL_ASSERT(false); }

}  // namespace sley::rt
