// For models: another thread goes on.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::platform {

inline void cpu_relax() { rl::ctx().yield(1, $); }

}  // namespace sley::platform
