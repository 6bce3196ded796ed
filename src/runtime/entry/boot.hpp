// Before the first goroutine.
#pragma once

namespace sley::rt {

void boot() noexcept;  // any thread; runs once, and other callers wait for it

}  // namespace sley::rt
