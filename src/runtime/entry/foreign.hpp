// Threads that the runtime did not make.
#pragma once

#include <sley/detail/spawn.hpp>

#include "runtime/state/machine.hpp"

namespace sley::rt {

// Gives the calling thread a machine of its own.
machine* adopt_foreign_thread() noexcept;
// Runs the main goroutine on the calling thread. [user] Throws std::bad_alloc.
void run_here(const detail::task_type& type, void* callable);

}  // namespace sley::rt
