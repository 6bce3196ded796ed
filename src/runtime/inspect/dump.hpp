// Every goroutine's stack in text; see dump.cpp.
#pragma once

namespace sley::platform {
class frame_registers;
}

namespace sley::rt {

// [sysmon] After a SIGQUIT: prints all goroutines and ends the process with status 2.
void serve_dump_requests() noexcept;
bool is_dump_requested() noexcept;

void dump_all(int fd) noexcept;      // every goroutine
void install_dump_hooks() noexcept;  // at boot: fatal errors and SIGQUIT

// Prints the calling goroutine's stack. May allocate.
void dump_this_goroutine(int fd) noexcept;
// The same without malloc, from a frame on: that of a failure, in its signal handler.
void dump_this_goroutine_from(int fd, const platform::frame_registers& frame) noexcept;

}  // namespace sley::rt
