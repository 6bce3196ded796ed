// The timer that feeds a timer channel. It belongs to the channel and goes with it.
#pragma once

#include "runtime/source/timers.hpp"

namespace sley::detail {
struct chan_core;
}

namespace sley::sync {

struct channel_timer : rt::timer {
  detail::chan_core* channel = nullptr;  // [const]
  // The timer was stopped and not armed again, so its function does not run. Written under the
  // heap's lock by the timer's handle, and read by that or by the last holder of the channel, which
  // comes after it (RF-1). The function never touches it.
  bool is_stopped = false;
};

// The channel goes away: its timer must not send any more.
void destroy(channel_timer* t) noexcept;

}  // namespace sley::sync
