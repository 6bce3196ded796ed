// Goroutines that wait for any of several events of a descriptor.
//
// An observer is on the descriptor's list from before its first look until it leaves. An event that
// comes while it looks alerts it, so it looks again instead of parking: nothing is missed between
// the look, which is a system call, and the wait.
#include "runtime/queue/ready.hpp"
#include "runtime/run/netpoll.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/source/placement.hpp"
#include "runtime/state/machine.hpp"

#include <utility>

namespace sley::rt {

namespace {

// The helpers here require the lock.

io_result state_of(const watched* w, const io_observer& self) noexcept {
  const io_result ended = w->ended_by.load_relaxed();  // the lock orders it
  if (ended != io_result::ready) return ended;
  if (self.end != io_result::ready) return self.end;
  const bool is_late =
      (self.reads && w->reading.has_expired) || (self.writes && w->writing.has_expired);
  return is_late ? io_result::timed_out : io_result::ready;
}

void remove(watched* w, const io_observer& self) noexcept {
  io_observer** link = &w->observers;
  while (*link != &self) link = &(*link)->next;  // ends: it is on the list
  *link = self.next;
}

}  // namespace

io_result begin_observing(watched* w, io_observer& self) noexcept {
  detail::lock_guard guard(w->lock);
  const io_result state = state_of(w, self);
  if (state != io_result::ready) return state;
  ++w->users;
  self.next = std::exchange(w->observers, &self);
  return io_result::ready;
}

io_result wait_for_any_event(watched* w, io_observer& self) noexcept {
  for (;;) {  // ends by an alert
    w->lock.acquire();
    const io_result state = state_of(w, self);
    if (std::exchange(self.is_alerted, false) || state != io_result::ready) {
      w->lock.release();
      return state;
    }
    self.g = current_machine()->g;
    if (self.reads) note_wait(w, current_machine()->p);
    park_and_release(wait::io, nullptr, w->lock);
  }
}

void end_observing(watched* w, io_observer& self) noexcept {
  goroutine_list woken;
  w->lock.acquire();
  remove(w, self);
  // The deadline has woken this observer alone.
  if (state_of(w, self) == io_result::timed_out) alert_observers(w, woken);
  if (--w->users == 0 && w->closer != nullptr) woken.push_back(w->closer->g);
  w->lock.release();
  ready_all(std::move(woken));
}

io_result state_of_observed(watched* w, const io_observer& self) noexcept {
  detail::lock_guard guard(w->lock);
  return state_of(w, self);
}

void end_observer(watched* w, io_observer& which, io_result why) noexcept {
  w->lock.acquire();
  which.end = why;
  goroutine* parked = alert(which);
  w->lock.release();
  if (parked != nullptr) ready(parked);
}

}  // namespace sley::rt
