// The channels of a select that waits.
#pragma once

namespace sley::detail {
struct chan_core;
}

namespace sley::sync {

// Calls visit(arg, channel) for each case, without cases of nil channels. `selection` is what
// rt::waited has of the goroutine, which does not run meanwhile.
void visit_selected_channels(const void* selection,
                             void (*visit)(void* arg, const detail::chan_core& c) noexcept,
                             void* arg) noexcept;

}  // namespace sley::sync
