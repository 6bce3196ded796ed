// For models: another thread goes on, however many the pauses.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::platform {

inline void cpu_relax(int) { rl::ctx().yield(1, $); }

}  // namespace sley::platform
