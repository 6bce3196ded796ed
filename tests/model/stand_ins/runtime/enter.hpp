// For models of what is in src/sync: a thread of the model is a goroutine, and always inside.
#pragma once

namespace sley::rt {

struct machine {};
inline machine* enter() noexcept { return nullptr; }
inline void leave(machine* = nullptr) noexcept {}

}  // namespace sley::rt
