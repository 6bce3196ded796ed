// Taking the CPU away from those who compute; see preempt.cpp.
#pragma once

#include "runtime/machine.hpp"

namespace sley::rt {

void install_preemption() noexcept;  // at boot

// [sysmon] Sends the machine's thread the signal, unless one is under way, its thread has ended or
// (the call would return EINTR) it is asleep. True if one is under way now.
bool interrupt(machine* m, bool even_asleep = false) noexcept;

// [sysmon] The processor is about to be given up: who gets it looks out for that on a CPU that has
// nothing else to do, for to wake up there takes longer than all the rest.
void nudge_heir(const processor* p) noexcept;

// [sysmon] The machine runs its goroutine without a processor from now on. sysmon watches those:
// who then computes is stopped until it is its turn.
void add_stray(machine* m) noexcept;
void watch_strays() noexcept;
bool are_there_strays() noexcept;

}  // namespace sley::rt
