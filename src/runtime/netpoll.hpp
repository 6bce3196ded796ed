// Goroutines that wait for descriptors. From Go's netpoll.go and poll/fd_mutex.go.
//
// A watched descriptor is registered with the poller once. Reading and writing have a side each:
// one goroutine at a time has a side's turn and makes system calls with it, others queue. `may_try`
// says that a call is worth making. The goroutine with the turn clears it before the call, and
// events set it. So after a call that found nothing the goroutine waits unless an event has come
// since.
//
// A goroutine that waits for one of several events, as poll(2) does, takes no turn: it observes the
// descriptor. Every event wakes all observers, and each looks whether the descriptor is ready for
// it.
//
// Everything in a descriptor is guarded by its lock, which is taken twice for each operation. Order
// of locks: deadlines, then a timer heap's, then the descriptor's.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "platform/poller.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/timer.hpp"
#include "runtime/wait_reason.hpp"

#include <cstdint>
#include <span>

namespace sley::rt {

struct watched;

enum class io_result : std::uint8_t { ready, timed_out, closed, canceled };  // canceled: observers

// A goroutine that waits, on its own stack.
struct io_waiter {
  goroutine* g = nullptr;
  io_waiter* next = nullptr;            // in the queue for a turn
  io_result result = io_result::ready;  // written before it is made ready
};

// A goroutine that observes a descriptor, on its own stack.
struct io_observer {
  bool reads = false;           // [const] the deadline for reading counts
  bool writes = false;          // [const] the deadline for writing counts
  goroutine* g = nullptr;       // [lock: the descriptor's] while it is parked
  io_observer* next = nullptr;  // [lock: likewise]
  bool is_alerted = true;       // [lock: likewise] a look at the descriptor is worth it
  bool is_canceled = false;     // [lock: likewise]
};

// Reading or writing.
struct io_side : timer {               // the deadline's
  watched* owner = nullptr;            // [const]
  bool may_try = true;                 // [lock: owner->lock] a call may find something
  bool has_expired = false;            // [lock: owner->lock] the deadline has passed
  bool is_taken = false;               // [lock: owner->lock] a goroutine has the turn
  io_waiter* waiter = nullptr;         // [lock: owner->lock] has the turn, and waits for an event
  io_waiter* first_in_line = nullptr;  // [lock: owner->lock] wait for the turn
  io_waiter* last_in_line = nullptr;   // [lock: owner->lock]
};

// The record of a watched descriptor. Never given back to the system, but used again, so an event
// that comes too late finds a record: of another sequence.
struct alignas(64) watched {
  detail::lock lock{detail::lock_rank::descriptor};
  std::uint16_t sequence = 0;       // [lock: lock] grows with each use of the record
  detail::atomic<bool> is_closing;  // changed under the lock
  bool has_ended = false;           // [lock: lock] reading always is worth a call
  std::uint32_t users = 0;          // [lock: lock] operations under way
  int fd = -1;                      // [const] while it is watched
  std::uint32_t set = 0;            // [lock: lock] the watch set that it is in
  // [lock: lock] Waits of readers since the set was chosen, waits on processors of other sets, and
  // the number of waits at which it is chosen again.
  std::uint8_t waits = 0;
  std::uint8_t waits_away = 0;
  std::uint8_t waits_to_choice = 0;
  bool is_polled = false;            // [const] while it is in use: there are events
  io_waiter* closer = nullptr;       // [lock: lock] waits until there are no users
  io_observer* observers = nullptr;  // [lock: lock]
  io_side reading;
  io_side writing;
  detail::lock deadlines{detail::lock_rank::deadlines};  // held while a deadline is set
  watched* next_free = nullptr;                          // [lock: that of the records]
  watched* next_all = nullptr;  // [const] once it is on the list of all records
};

// All of these: [inside], perhaps on another machine after.

// Null, and an errno value: the descriptor can't be waited for (EPERM), or there is no memory, or
// no room in a table of the kernel's.
watched* watch(int fd, int& error) noexcept;
// For a descriptor that can't be waited for: turns and close only. Null: no memory.
watched* hold(int fd) noexcept;

// Wakes all waiters, waits until no operation uses the descriptor, and watches it no longer: the
// caller may close its number. Operations find it closed from then on. False: it was closed before.
[[nodiscard]] bool unwatch(watched* w) noexcept;
// After unwatch(), once no goroutine uses the record any more.
void forget(watched* w) noexcept;

// If the result is `ready` the caller has the turn and may make a call, and must then use
// wait_for_event or end_io. Else it has no turn.
[[nodiscard]] io_result begin_io(watched* w, io_side& side) noexcept;
// The call found nothing: waits until another is worth making. If not `ready` the turn is over.
[[nodiscard]] io_result wait_for_event(watched* w, io_side& side) noexcept;
// Between two calls in one turn: returns what begin_io would return.
[[nodiscard]] io_result state_of_io(watched* w, const io_side& side) noexcept;
// The call was made. `may_try`: there may be more.
void end_io(watched* w, io_side& side, bool may_try) noexcept;

// The caller observes the descriptor until end_observing(). Any result but `ready`: it does not.
[[nodiscard]] io_result begin_observing(watched* w, io_observer& self) noexcept;
// Waits until a look at the descriptor's readiness is worth it: the first one always is.
[[nodiscard]] io_result wait_for_any_event(watched* w, io_observer& self) noexcept;
void end_observing(watched* w, io_observer& self) noexcept;
// The wait of this observer ends, or its next one does.
void cancel_observing(watched* w, io_observer& which) noexcept;
// Requires the lock. Adds the goroutines that must be made ready.
void alert_observers(watched* w, goroutine_list& woken) noexcept;
// Likewise, for a side whose deadline has passed: returns an observer of that side, which then
// alerts the others. Null: none of them is parked.
goroutine* alert_one_in_time(watched* w, const io_side& late) noexcept;
// Likewise: the calling goroutine is about to wait for an event of reading.
void note_wait_to_read(watched* w) noexcept;

// A use of the descriptor that needs no turn. False: it is closed.
[[nodiscard]] bool begin_use(watched* w) noexcept;
// The same for a caller that does not own the descriptor: it knows the record, and the sequence
// that this had while the descriptor was open. False: closed, or another descriptor uses the
// record.
[[nodiscard]] bool begin_use(watched* w, std::uint16_t sequence) noexcept;
[[nodiscard]] std::uint16_t sequence_of(watched* w) noexcept;
void end_use(watched* w) noexcept;

// From `when_ns` on all operations of this side time out, waiting ones too; `never`: no deadline.
// False: no memory for the deadline, and none is set.
[[nodiscard]] bool set_deadline(watched* w, io_side& side, std::int64_t when_ns) noexcept;

// ---- for the scheduler ----

// Is there any descriptor that a goroutine may wait for? Any thread.
bool is_anything_watched() noexcept;
// Does a goroutine wait for a descriptor? Any thread; takes its time.
bool is_anybody_in_io() noexcept;
// Delivers events taken out of a watch set. Returns the goroutines that must be made ready.
// [inside, or sysmon]
goroutine_list deliver(std::span<const platform::poll_event> events) noexcept;

}  // namespace sley::rt
