// Giving back the memory of stacks that nobody needs; see trim.cpp.
#pragma once

namespace sley::rt {

// [sysmon] A batch. True if nothing is left to give back.
bool trim_stacks() noexcept;

}  // namespace sley::rt
