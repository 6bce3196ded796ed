// When nothing can ever run again; see deadlock.cpp.
#pragma once

namespace sley::rt {

void look_for_deadlock() noexcept;  // [sysmon] does not return if there is one

}  // namespace sley::rt
