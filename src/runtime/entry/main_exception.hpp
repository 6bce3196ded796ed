// An exception leaves the main goroutine; see main_exception.cpp.
#pragma once

#include <unwind.h>

namespace sley::rt {

// Returns if the caller of run() catches it; else it is reported and std::terminate() called.
void end_unless_caught(_Unwind_Exception* exception) noexcept;
// By the thread in run(): sleeps until the main goroutine has ended.
void sleep_in_run() noexcept;

}  // namespace sley::rt
