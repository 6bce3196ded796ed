#include "platform/current.hpp"

// Assembly alone names them, which link-time optimisation does not see.
[[gnu::used]] thread_local sley::rt::machine* sley_current_machine = nullptr;
[[gnu::used]] thread_local sley::rt::machine* sley_calling_machine = nullptr;

namespace sley::platform {

namespace {
thread_local constinit held_locks held;
}

held_locks& own_held_locks() noexcept { return held; }

}  // namespace sley::platform
