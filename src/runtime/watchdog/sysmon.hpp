// The thread that watches all others; see sysmon.cpp.
#pragma once

namespace sley::rt {

void start_sysmon() noexcept;  // at boot
// The duties that can't wait, for requests that take long. [sysmon]
void keep_watch() noexcept;

}  // namespace sley::rt
