// Gives back memory of stacks that is not needed; see trim.cpp.
#pragma once

namespace sley::rt {

// [sysmon] Gives back a batch. True if nothing is left to give back.
bool trim_stacks() noexcept;

}  // namespace sley::rt
