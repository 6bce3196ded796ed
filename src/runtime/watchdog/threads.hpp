// Where threads come from, and where they end; see threads.cpp.
#pragma once

#include <cstdint>

namespace sley::rt {

void start_template_thread() noexcept;  // at boot
// Ends the process if that many more threads would exceed the limit.
void check_thread_limit(std::uint32_t more) noexcept;
void retire_threads(std::uint32_t count) noexcept;  // [sysmon] ends this many idle threads

}  // namespace sley::rt
