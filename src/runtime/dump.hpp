// Every goroutine's stack in text; see dump.cpp.
#pragma once

namespace sley::rt {

struct goroutine;
struct machine;

// Which machine runs the goroutine at the moment; null if none does. For figures and dumps.
machine* runner_of(const goroutine& g) noexcept;

// [sysmon] Somebody has sent SIGQUIT: prints all and ends the process with status 2.
void serve_dump_requests() noexcept;
bool is_dump_requested() noexcept;

// The stack of the goroutine that calls. May allocate.
void dump_this_goroutine(int fd) noexcept;

}  // namespace sley::rt
