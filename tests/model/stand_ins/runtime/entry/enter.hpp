// For models of src/sync: a thread of the model may always be inside.
#pragma once

#include "base/check.hpp"
#include "runtime/state/goroutine.hpp"

namespace sley::rt {

inline machine* enter() noexcept { return current_machine(); }
inline machine* try_enter() noexcept { return enter(); }
inline void leave(machine* = nullptr) noexcept {}
inline bool is_in_user_code() noexcept { return true; }

struct inside {
  ~inside() {}
};

}  // namespace sley::rt
