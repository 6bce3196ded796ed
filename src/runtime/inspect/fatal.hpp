// The last words for errors that end the process.
#pragma once

#include <unwind.h>

namespace sley::rt {

// In the signal handler.
void report_stack_overflow(void* address, void* stack_pointer) noexcept;
void report_uncaught_exception(_Unwind_Exception* exception) noexcept;
// std::terminate() has been called in a goroutine.
void report_termination() noexcept;

}  // namespace sley::rt
