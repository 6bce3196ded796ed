// A goroutine waits, and another one runs.
#pragma once

#include <sley/detail/lock.hpp>

#include "runtime/state/machine.hpp"
#include "runtime/state/wait_reason.hpp"

namespace sley::rt {

// Stops the calling goroutine until ready(). `action(g, arg)` runs after the context is saved; only
// then may a waker see the goroutine. Dumps name the object that it waits for, which must exist
// until then; null if there is none to name. [inside; it may return on another machine]
void park(wait reason, const void* object, after_switch_action action, void* arg) noexcept;
// As park(); the action releases the lock under which wakers find the goroutine.
void park_and_release(wait reason, const void* object, detail::lock& held) noexcept;
void yield() noexcept;  // [inside] to the end of a queue
// The running goroutine has no processor: it leaves this thread for the end of the global queue.
void yield_without_p(machine* m) noexcept;  // [inside]

}  // namespace sley::rt
