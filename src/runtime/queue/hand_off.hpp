// A processor leaves its machine: to another machine, or among the idle ones.
#pragma once

#include "parts/wake_gate.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"

namespace sley::rt {

// Gives a processor in the caller's hand to an idle machine, or makes it idle. Never waits.
void hand_off_p(processor* p) noexcept;

// Makes the machine's processor idle and stops its search. [own stack]
parts::idle_debt give_up_p(machine* m) noexcept;

// Pays the debt: looks at everything that may wait for a machine, and wakes one for it. `self`: the
// machine that has given its processor up, and goes on to sleep_until_needed(). It takes up the
// search itself if goroutines are queued, and polls itself. True: it has a processor again.
// [inside, or a thread without a machine]
bool settle(parts::idle_debt debt, machine* self = nullptr) noexcept;

}  // namespace sley::rt
