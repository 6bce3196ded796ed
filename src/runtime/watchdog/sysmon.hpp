// The thread that watches all others; see sysmon.cpp.
#pragma once

namespace sley::rt {

void start_sysmon() noexcept;  // at boot

}  // namespace sley::rt
