// Every goroutine's stack in text; see dump.cpp.
#pragma once

namespace sley::rt {

// [sysmon] Somebody has sent SIGQUIT: prints all and ends the process with status 2.
void serve_dump_requests() noexcept;
bool is_dump_requested() noexcept;

// The stack of the goroutine that calls. May allocate.
void dump_this_goroutine(int fd) noexcept;

}  // namespace sley::rt
