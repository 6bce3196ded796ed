// Steals work from the queues of other processors.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

// A goroutine of another processor, or null. Sets ran_timers if timers fired meanwhile, which may
// have made others runnable. [own stack]
goroutine* steal_work(machine* m, bool& ran_timers) noexcept;

}  // namespace sley::rt
