// Waiting for a while, where no event tells when a call is worth another try.
#pragma once

#include <sley/context.hpp>
#include <sley/time_span.hpp>

#include "io/perform.hpp"

namespace sley::io {

// Parks until the time is over, or until operations of that side fail: by a deadline, by a context
// or because the descriptor is closed. Without memory for the hook of a context only the time ends
// it; without memory for a timer, std::bad_alloc.
void pause(rt::watched* w, direction d, time_span time, const context& ctx);

}  // namespace sley::io
