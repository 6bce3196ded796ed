// Waiting for a while, where no event tells when a call is worth another try.
#pragma once

#include <sley/context.hpp>
#include <sley/time_span.hpp>

#include "io/perform.hpp"

namespace sley::io {

// Parks until the time is over, or until operations of that side fail: by a deadline, by a context
// or because the descriptor is closed. Without memory only the time ends it, which may need some as
// well: std::bad_alloc.
void pause(rt::watched* w, direction d, time_span time, const context& ctx);

}  // namespace sley::io
