// Waits for events and for the next timer.
#pragma once

#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"

#include <cstdint>

namespace sley::rt {

// Sleeps until the machine is needed, as the poller or among the idle machines. True: the machine
// has a processor. False: the thread must end. [own stack, no processor]
[[nodiscard]] bool sleep_until_needed(machine* m) noexcept;
// Polls without waiting. Returns a goroutine to run next, or null. [inside]
goroutine* poll_now(machine* m) noexcept;

}  // namespace sley::rt
