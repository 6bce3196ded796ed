// The sleep of poller.hpp, which a simulation has in another way than the kernel.
#pragma once

#include "platform/poller.hpp"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

inline constexpr std::size_t most_awaited = 1 + most_poll_sets;

// As ppoll(2) for at most that many, with the deadline of wait_for_events() in poller.hpp.
void wait_for_any(std::span<pollfd> descriptors, std::int64_t deadline_ns) noexcept;

// A simulation asks the kernel for events at every step at which a thread waits for them, but only
// if there can be some: after a descriptor was watched, or between break_wait() and the end of a
// wait. Real threads sleep in the kernel, which need not be told.
#ifdef SLEY_SIMULATION
void note_watched() noexcept;
void note_break() noexcept;
#else
inline void note_watched() noexcept {}
inline void note_break() noexcept {}
#endif

}  // namespace sley::platform
