// The timer that feeds a timer channel. It belongs to the channel and goes with it.
#pragma once

#include "runtime/source/timers.hpp"

namespace sley::detail {
struct chan_core;
}

namespace sley::sync {

struct channel_timer : rt::timer {
  detail::chan_core* channel = nullptr;  // [const]
};

// The channel goes away: its timer must not send any more.
void destroy(channel_timer* t) noexcept;

}  // namespace sley::sync
