// The sleep of poller.hpp, which a simulation has in another way than the kernel.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace sley::platform {

inline constexpr int most_events_at_once = 128;

// As wait_for_events() of poller.hpp with a deadline to come: how many of the array's events there
// are, or -1.
int wait_in_poller(int poller, epoll_event (&events)[most_events_at_once],
                   std::int64_t deadline_ns) noexcept;

}  // namespace sley::platform
