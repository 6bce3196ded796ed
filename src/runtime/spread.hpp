// Machines off each other's CPUs; see spread.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

struct machine;

// [sysmon]
void spread_machines(std::int64_t now_ns) noexcept;

// On the machine's thread, inside, after border::moves was lowered.
void move_as_asked(const machine* m) noexcept;

}  // namespace sley::rt
