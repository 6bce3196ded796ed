// The loop of a machine.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

void schedule(machine* m) noexcept;  // [own stack] returns when the thread must end

}  // namespace sley::rt
