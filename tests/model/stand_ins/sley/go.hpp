// For models of src/sync: another goroutine runs next.
#pragma once

#include <sley/detail/atomic.hpp>

namespace sley::this_goroutine {

inline void yield() { rl::ctx().yield(1, $); }

}  // namespace sley::this_goroutine
