// Which descriptors are ready: epoll(7). Each is registered once for its life, edge-triggered, so
// an event says that something has changed since the call that found nothing.
//
// One poller for the process, which is never closed. No function here
// takes a lock of libc or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

struct poll_event {
  std::uint64_t tag;  // as given to watch()
  bool is_readable;   // reading would not block, be it for the end or an error
  bool is_writable;
  // The peer has closed or reset, or sent urgent data: a short read does not prove that nothing is
  // left.
  bool has_ended;
};

// Before everything else here, once. Returns 0, or an errno value.
int open_poller() noexcept;

// Registers a descriptor: from now on its changes are events with this tag. Returns 0, or an errno
// value; EPERM: it is of a kind that cannot be waited for, as regular files are.
int watch(int fd, std::uint64_t tag) noexcept;
// No events of it after this but those that somebody is just receiving.
void unwatch(int fd) noexcept;

// Blocks the thread until there are events, break_wait(), a signal, or deadline_ns; 0: does not
// block, INT64_MAX: no deadline. Returns how many events there are.
std::size_t wait_for_events(std::span<poll_event> events, std::int64_t deadline_ns) noexcept;

// Any thread: a wait_for_events() that blocks returns, or the next one does at once.
void break_wait() noexcept;

}  // namespace sley::platform
