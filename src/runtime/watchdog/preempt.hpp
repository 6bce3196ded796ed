// Taking the CPU away from a computing goroutine; see preempt.cpp.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

void install_preemption() noexcept;  // at boot

// [sysmon] Sends the signal to the machine's thread, unless one is on its way, the thread has
// ended, or the thread is asleep (its system call would fail with EINTR). True if a signal is on
// its way now.
bool interrupt(machine* m, bool even_asleep = false) noexcept;

// [sysmon] p is about to be given up. Wakes the likely successor early, so that it spins for the
// hand-over on an idle CPU, because its wake-up is the slowest step.
void nudge_successor(const processor* p) noexcept;

}  // namespace sley::rt
