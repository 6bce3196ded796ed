// The seam where a test build may interfere: called before every atomic operation. It vanishes in
// normal builds; the chaos build perturbs real threads here, by seed.
#pragma once

#include <sley/detail/config.hpp>

namespace sley::detail {

#ifdef SLEY_CHAOS
SLEY_API void schedule_point() noexcept;
#else
SLEY_ALWAYS_INLINE void schedule_point() noexcept {}
#endif

}  // namespace sley::detail
