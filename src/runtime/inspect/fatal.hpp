// The last words for errors that end the process.
#pragma once

#include <unwind.h>

namespace sley::platform {
struct failure;
}

namespace sley::rt {

// In the signal handler.
void report_stack_overflow(void* address, void* stack_pointer) noexcept;
// In the signal handler, on any thread: says it of a goroutine.
void report_failure(const platform::failure& f) noexcept;
void report_uncaught_exception(_Unwind_Exception* exception) noexcept;
// std::terminate() has been called in a goroutine.
void report_termination() noexcept;

}  // namespace sley::rt
