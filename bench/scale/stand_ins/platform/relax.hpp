// Takes the place of src/platform/relax.hpp in the model.
#pragma once

#include "cpus.hpp"

namespace sley::platform {

inline void cpu_relax(int pauses) noexcept {
  for (; pauses > 0; --pauses) scale::pause();
}

}  // namespace sley::platform
