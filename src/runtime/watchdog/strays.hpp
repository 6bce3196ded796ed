// Machines that run a goroutine without a processor; see strays.cpp.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

// [sysmon] The machine runs its goroutine without a processor from now on. sysmon watches such
// strays and stops one that computes until it is its turn.
void add_stray(machine* m) noexcept;
void watch_strays() noexcept;
bool are_there_strays() noexcept;

}  // namespace sley::rt
