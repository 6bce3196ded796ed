// Fewer processors in use while the CPUs are others'; see reserve.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

// True if there are more of them now: goroutines and timers may wait for the next look. [sysmon]
bool see_to_reserve(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
