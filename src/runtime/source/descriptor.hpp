// The record of a descriptor that goroutines wait for, and what an event or a deadline does to it.
// run/netpoll.hpp has the goroutines' side: how one waits.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>
#include "platform/cpu.hpp"
#include "platform/poller.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/timer.hpp"

#include <cstdint>
#include <span>

namespace sley::rt {

struct watched;

// `canceled` and `deadline_exceeded` are how a context has ended; without memory it can't end it.
enum class io_result : std::uint8_t {
  ready,
  timed_out,
  closed,
  canceled,
  deadline_exceeded,
  no_memory,
};

// A goroutine that waits, on its own stack. An operation with a context has one for all its waits.
struct io_waiter {
  goroutine* g = nullptr;
  io_waiter* next = nullptr;            // in the queue for a side
  io_result result = io_result::ready;  // written before it is made ready
  io_result end = io_result::ready;     // [lock: the descriptor's] how its context has ended
};

// A goroutine that observes a descriptor, on its own stack, or a case of its select.
struct io_observer {
  bool reads = false;                // [const] the deadline for reading counts
  bool writes = false;               // [const] the deadline for writing counts
  goroutine* g = nullptr;            // [lock: the descriptor's] while it is parked
  io_observer* next = nullptr;       // [lock: likewise]
  bool is_alerted = true;            // [lock: likewise] a look at the descriptor is worth it
  io_result end = io_result::ready;  // [lock: likewise] how its context has ended
  // [const] Tells the goroutine of an alert in another way than by `g`, with the descriptor's lock
  // held. Returns the goroutine if it must be made ready, else null.
  goroutine* (*tell)(io_observer&) noexcept = nullptr;
};

// Reading or writing.
struct io_side : timer {               // the deadline's
  watched* owner = nullptr;            // [const]
  bool may_try = true;                 // [lock: owner->lock] a call may find something
  bool has_expired = false;            // [lock: owner->lock] the deadline has passed
  bool is_taken = false;               // [lock: owner->lock] a goroutine holds the side
  io_waiter* waiter = nullptr;         // [lock: owner->lock] holds the side, and waits for an event
  io_waiter* first_in_line = nullptr;  // [lock: owner->lock] wait for the side
  io_waiter* last_in_line = nullptr;   // [lock: owner->lock]
};

// The record of a watched descriptor. Never given back to the system, but used again, so an event
// that comes too late finds a record: of another sequence.
struct alignas(platform::cache_line_bytes) watched {
  detail::lock lock{detail::lock_rank::descriptor};
  std::uint16_t sequence = 0;  // [lock: lock] grows with each use of the record
  // Changed under the lock: what all operations fail with. `closed` stays; else it is how the bound
  // context has ended.
  detail::atomic<io_result> ended_by{io_result::ready};
  bool has_ended = false;   // [lock: lock] reading always is worth a call
  std::uint32_t users = 0;  // [lock: lock] operations under way
  int fd = -1;              // [const] while it is watched
  std::uint32_t set = 0;    // [lock: lock] the watch set that it is in
  // [lock: lock] Waits of readers since the set was chosen, waits on processors of other sets, and
  // the number of waits at which it is chosen again.
  std::uint8_t waits = 0;
  std::uint8_t waits_away = 0;
  std::uint8_t waits_to_choice = 0;
  bool is_polled = false;  // [const] while it is in use: there are events
  // Relaxed: its file system knows calls that don't wait, as far as is known, and they end at once.
  detail::atomic<bool> may_batch;
  io_waiter* closer = nullptr;       // [lock: lock] waits until there are no users
  io_observer* observers = nullptr;  // [lock: lock]
  io_side reading;
  io_side writing;
  std::uint64_t binding = 0;  // [lock: lock] grows with each context, and with each use
  void* bound = nullptr;      // [lock: lock] the context's hook, which io/descriptor.cpp owns
  detail::lock deadlines{detail::lock_rank::deadlines};  // held while a deadline is set
  watched* next_free = nullptr;                          // [lock: that of the records]
  watched* next_all = nullptr;  // [const] once it is on the list of all records
};

// ---- records ----

// Null: no memory. The other fields are as the last use left them. [inside]
watched* take_watched() noexcept;
void give_watched(watched* w) noexcept;

// The tag by which an event finds the record, and only in the present use of it.
std::uint64_t tag_of(const watched* w) noexcept;

// ---- wake-ups: all of these require the record's lock; what they return must be made ready once
// it is free ----

// The goroutine that waits for an event of this side, or null.
goroutine* take_waiter(io_side& side, io_result result) noexcept;
// The observer's goroutine, or null if it is not to be made ready. It looks again.
goroutine* alert(io_observer& o) noexcept;
void alert_observers(watched* w, goroutine_list& woken) noexcept;
// Adds a goroutine that one of the above has returned, unless it is null.
inline void collect(goroutine* g, goroutine_list& woken) noexcept {
  if (g != nullptr) woken.push_back(g);
}

// Ends an observer's waits at its time, as timed out. For add_timer() and remove_timer().
struct io_alarm : timer {
  io_alarm(watched* w, io_observer& o) noexcept;
  watched* const of;
  io_observer& observer;
};

// ---- for the scheduler ----

// Does a goroutine wait for a descriptor? Any thread; takes its time.
bool is_any_in_io() noexcept;
// Delivers events taken out of a watch set. Returns the goroutines that must be made ready.
// [inside, or sysmon]
goroutine_list deliver(std::span<const platform::poll_event> events) noexcept;

}  // namespace sley::rt
