// For models: chance is tried in all ways, and so is time where the model lets it pass.
#pragma once

#include "base/random.hpp"
#include "platform/futex.hpp"

#include <cstdint>

namespace sley::platform {

// How far the clock may have gone from one look to the next; 0: it stands still.
inline std::int64_t clock_step_ns = 0;

inline std::int64_t now_ns() {
  if (clock_step_ns != 0 && rl::rand(2) == 1) kernel->now_ns += clock_step_ns;
  return 1 + kernel->now_ns;
}

inline std::uint32_t draw_below(base::random&, std::uint32_t bound) {
  return bound == 1 ? 0 : rl::rand(bound);
}

inline bool is_due(std::uint32_t, std::uint32_t) { return rl::rand(2) == 1; }

}  // namespace sley::platform
