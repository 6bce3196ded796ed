// Ends of the process that other code begins: they wait for a report, and report themselves.
#pragma once

namespace sley::rt {

// At boot: std::terminate(), exit() and quick_exit() from now on.
void install_process_ends() noexcept;

}  // namespace sley::rt
