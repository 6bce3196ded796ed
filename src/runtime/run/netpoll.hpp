// Goroutines that wait for descriptors. From Go's netpoll.go and poll/fd_mutex.go.
//
// A watched descriptor is registered with the poller once. Reading and writing have a side each:
// one goroutine at a time holds a side and makes system calls with it, others queue. `may_try`
// says that a call is worth making. The goroutine that holds the side clears it before the call,
// and events set it. So after a call that found nothing the goroutine waits unless an event has
// come since.
//
// A goroutine that waits for one of several events, as poll(2) does, takes no side: it observes the
// descriptor. Every event wakes all observers, and each looks whether the descriptor is ready for
// it.
//
// Everything in a descriptor is guarded by its lock, which is taken twice for each operation. Order
// of locks: deadlines, then a timer heap's, then the descriptor's.
#pragma once

#include "runtime/source/descriptor.hpp"

#include <cstdint>

namespace sley::rt {

// All of these: [inside], perhaps on another machine after.

// Null, and an errno value: the descriptor can't be waited for (EPERM), or there is no memory, or
// no room in a table of the kernel's.
watched* watch(int fd, int& error) noexcept;
// For a descriptor that can't be waited for: sides and close only. Null: no memory.
watched* hold(int fd) noexcept;

// Wakes all waiters, waits until no operation uses the descriptor, and watches it no longer: the
// caller may close its number. Operations find it closed from then on. False: it was closed before.
[[nodiscard]] bool unwatch(watched* w) noexcept;
// After unwatch(), once no goroutine uses the record any more.
void forget(watched* w) noexcept;

// If the result is `ready` the caller holds the side and may make a call, and must then use
// wait_for_event or end_io. Else it does not hold it. With `self` end_waits() ends the waits.
[[nodiscard]] io_result begin_io(watched* w, io_side& side) noexcept;
[[nodiscard]] io_result begin_io(watched* w, io_side& side, io_waiter& self) noexcept;
// The same for a caller that does not wait. False: it would have to, or it is not `ready`.
[[nodiscard]] bool try_begin_io(watched* w, io_side& side) noexcept;
// The call found nothing: waits until another is worth making. If not `ready` the side is released.
[[nodiscard]] io_result wait_for_event(watched* w, io_side& side) noexcept;
[[nodiscard]] io_result wait_for_event(watched* w, io_side& side, io_waiter& self) noexcept;
// The wait of this waiter ends, in the queue for the side as well, or else its next one does.
void end_waits(watched* w, io_side& side, io_waiter& of, io_result why) noexcept;
// Between two calls while the side is held: returns what begin_io would return.
[[nodiscard]] io_result state_of_io(watched* w, const io_side& side) noexcept;
// The call was made. `may_try`: there may be more.
void end_io(watched* w, io_side& side, bool may_try) noexcept;

// The caller observes the descriptor until end_observing(). Any result but `ready`: it does not.
[[nodiscard]] io_result begin_observing(watched* w, io_observer& self) noexcept;
// Waits until a look at the descriptor's readiness is worth it: the first one always is.
[[nodiscard]] io_result wait_for_any_event(watched* w, io_observer& self) noexcept;
void end_observing(watched* w, io_observer& self) noexcept;
// Any result but `ready`: operations that the observer stands for fail.
[[nodiscard]] io_result state_of_observed(watched* w, const io_observer& self) noexcept;
// The wait of this observer ends, or its next one does.
void end_observer(watched* w, io_observer& which, io_result why) noexcept;

// A use of the descriptor that needs no side. Any result but `ready`: it is not used.
[[nodiscard]] io_result begin_use(watched* w) noexcept;
// The same, whatever its context, for a caller that does not own the descriptor: it knows the
// record, and the sequence that this had while the descriptor was open. False: closed, or another
// descriptor uses the record.
[[nodiscard]] bool begin_use(watched* w, std::uint16_t sequence) noexcept;
[[nodiscard]] std::uint16_t sequence_of(watched* w) noexcept;
void end_use(watched* w) noexcept;

// From `when_ns` on all operations of this side time out, waiting ones too; `never`: no deadline.
// False: no memory for the deadline, and none is set.
[[nodiscard]] bool set_deadline(watched* w, io_side& side, std::int64_t when_ns) noexcept;

// A context for all operations is bound in steps, because its hook is the caller's.
// 1. From here on no former context counts. Returns the number of the new binding; `former` is what
//    keep_binding() has got for the one before, or null.
[[nodiscard]] std::uint64_t renew_binding(watched* w, void*& former) noexcept;
// 2. For the hook, when its context has ended: all operations fail from now on, waiting ones too.
//    Does nothing if there is a later binding, or the descriptor is closed.
void end_bound(watched* w, std::uint64_t binding, io_result why) noexcept;
// 3. Keeps the hook until the next binding. False: there is one, or the descriptor is closed.
[[nodiscard]] bool keep_binding(watched* w, std::uint64_t binding, void* hook) noexcept;

}  // namespace sley::rt
