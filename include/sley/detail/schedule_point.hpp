// The seam where a test build may interfere: called before every atomic operation. It vanishes in
// normal builds; the chaos build perturbs real threads here, by seed, and the simulation behind
// <sley/testing.hpp> decides here which of its threads goes on.
#pragma once

#include <sley/detail/config.hpp>

namespace sley::detail {

#if defined(SLEY_CHAOS) || defined(SLEY_SIMULATION)
SLEY_API void schedule_point() noexcept;
// The thread can't go on before others have.
SLEY_API void relax_point() noexcept;
#else
SLEY_ALWAYS_INLINE void schedule_point() noexcept {}
SLEY_ALWAYS_INLINE void relax_point() noexcept {}
#endif

}  // namespace sley::detail
