// Machines off each other's CPUs; see cpu_spread.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

// [sysmon]
void spread_machines(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
