// Which descriptors are ready: epoll(7). Each is watched in one of several sets, in which it is
// registered once, edge-triggered: an event says that something has changed since the call that
// found nothing. Events are taken out of one set without waiting; a wait is for the events of all
// sets.
//
// Sets are never closed. No function here takes a lock of libc or allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

inline constexpr std::uint32_t most_poll_sets = 16;

struct poll_event {
  std::uint64_t tag;  // as given to watch()
  bool is_readable;   // reading would not block, be it for the end or an error
  bool is_writable;
  // The peer has closed or reset, or sent urgent data: a short read does not prove that nothing is
  // left.
  bool has_ended;
};

// Opens the set of the next number, from 0 on; the first one before everything else here. By one
// thread at a time. Returns 0, or an errno value.
int open_poll_set() noexcept;

// Registers a descriptor in a set: from now on its changes are events with this tag. Its readiness
// at that moment is an event as well. It may be in several sets. Returns 0, or an errno value;
// EPERM: it is of a kind that cannot be waited for, as regular files are.
int watch(std::uint32_t set, int fd, std::uint64_t tag) noexcept;
// This set has no events of it any more, except events that a thread is just taking.
void unwatch(std::uint32_t set, int fd) noexcept;

// The CPU that took in the last packet of a socket (SO_INCOMING_CPU); -1: it is no socket, or had
// no packet.
int incoming_cpu(int fd) noexcept;

// Takes the events of a set, as many as fit. Returns their number.
std::size_t take_events(std::uint32_t set, std::span<poll_event> events) noexcept;

// Blocks the thread until there are events in any set, break_wait(), a signal, or deadline_ns;
// INT64_MAX: no deadline. Returns whether there are events.
bool wait_for_events(std::int64_t deadline_ns) noexcept;

// Any thread: a wait_for_events() that blocks returns, or the next one does at once.
void break_wait() noexcept;

}  // namespace sley::platform
