// Calls that announce that they may block; see blocking.cpp.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

// Ends the announcement while the call goes on. False: the border has reasons to attend to. [user]
[[nodiscard]] bool leave_call(machine* m) noexcept;

}  // namespace sley::rt
