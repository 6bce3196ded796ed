// Using fewer processors while other processes occupy the CPUs; see idle_limit.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

// [sysmon] Adjusts the reserve. True if it has grown: goroutines and timers may wait for the next
// look.
bool see_to_reserve(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
