// What a thread does between two looks at a word that another thread is about to change.
#pragma once

#include <sley/detail/schedule_point.hpp>

#include "platform/cpu.hpp"

namespace sley::platform {

[[gnu::always_inline]] inline void cpu_relax() noexcept {
  detail::relax_point();
  pause_cpu();
}

}  // namespace sley::platform
