// A copy of this process that does one thing, which may fail there and not here.
#pragma once

#include <cstdint>

namespace sley::platform {

// Calls f(arg) in a copy of this process that has the calling thread alone, on a stack of 1 MiB,
// and waits until the copy has ended, for `most_ns` at most. True: f has returned. False: the copy
// has failed, or could not be made, or was killed because it took too long. f may use malloc even
// if another thread holds its lock: then the copy waits in vain, and is killed.
//
// Blocks the thread. Also in a signal handler: no malloc and no lock in this process.
bool run_in_copy(void (*f)(void*) noexcept, void* arg, std::int64_t most_ns) noexcept;

}  // namespace sley::platform
