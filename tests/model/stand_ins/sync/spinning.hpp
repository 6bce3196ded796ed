// For models: a mutex spins once if the model says so.
#pragma once

namespace sley::sync {

inline constexpr int spins = 1;
inline constexpr int pauses_a_spin = 1;
inline bool spins_in_model = false;

inline bool can_spin() noexcept { return spins_in_model; }

}  // namespace sley::sync
