// SLEYDEBUG=schedtrace=N,scheddetail=1; see sched_trace.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

// [sysmon] Prints the state of the scheduler if it is time.
void trace_schedule(std::int64_t now_ns) noexcept;

}  // namespace sley::rt
