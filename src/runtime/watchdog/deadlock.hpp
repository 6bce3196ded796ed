// When nothing can ever run again; see deadlock.cpp.
#pragma once

namespace sley::rt {

// Is a timer armed, or does a goroutine wait for a descriptor? Then the process goes on by itself.
// [sysmon]
bool is_event_to_come() noexcept;
void look_for_deadlock() noexcept;  // [sysmon] does not return if there is one

}  // namespace sley::rt
