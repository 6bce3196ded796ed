// A thread that lives as long as the process. Machines' threads end when they are not needed any
// more. So this thread makes the requests that the system ties to the requesting thread.
#pragma once

namespace sley::rt {

// Is the calling thread a foreign one, or is its goroutine locked to it? Such a thread's state is
// the user's business.
bool has_own_thread() noexcept;

// Calls f(arg) on the lasting thread, which is made at the first use, and waits. Returns 0, or an
// errno value: there is no thread, and nothing was called. Blocks: in an announced call only. One
// caller at a time.
int call_on_lasting_thread(void (*f)(void*), void* arg) noexcept;

// ---- for the template thread ----

// Makes the lasting thread, if a caller has asked for it.
void make_lasting_thread_if_wanted() noexcept;

}  // namespace sley::rt
