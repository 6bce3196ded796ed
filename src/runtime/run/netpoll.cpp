
#include "runtime/run/netpoll.hpp"

#include "platform/decisions.hpp"
#include "platform/interrupt.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/run/park.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/source/placement.hpp"
#include "runtime/source/poll_sets.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/machine.hpp"

#include <cerrno>
#include <utility>

namespace sley::rt {

namespace {

// ---- waiting: all of this requires the record's lock ----

void stand_in_line(io_side& side, io_waiter* self) noexcept {
  (side.first_in_line == nullptr ? side.first_in_line : side.last_in_line->next) = self;
  side.last_in_line = self;
}

// The side's lock goes to the next in line. Returns that goroutine, which must be made ready.
goroutine* pass_side(io_side& side) noexcept {
  io_waiter* next = side.first_in_line;
  side.is_taken = next != nullptr;
  if (next == nullptr) return nullptr;
  side.first_in_line = next->next;
  return next->g;
}

// One user less. If it was the last one, returns the goroutine that waits for that, or null.
goroutine* leave_use(watched* w) noexcept {
  --w->users;
  return w->users == 0 && w->closer != nullptr ? w->closer->g : nullptr;
}

void wake(goroutine* g) noexcept {
  if (g != nullptr) ready(g);
}

// Releases the lock.
void release_side(watched* w, io_side& side) noexcept {
  goroutine* closer = leave_use(w);
  goroutine* next = pass_side(side);
  w->lock.release();
  wake(next);
  wake(closer);
}

io_result state_of(const watched* w, const io_side& side) noexcept {
  if (w->is_closing.load_relaxed()) return io_result::closed;
  return side.has_expired ? io_result::timed_out : io_result::ready;
}

// The caller holds the side. Releases the lock. Inlined: a return after a switch is slow.
[[gnu::always_inline]] inline io_result wait_until_worth_it(watched* w, io_side& side) noexcept {
  io_waiter self{.g = current_machine()->g, .result = state_of(w, side)};
  if (self.result == io_result::ready && !side.may_try) {
    if (&side == &w->reading) note_wait(w, current_machine()->p);
    side.waiter = &self;
    park_and_release(wait::io, w->lock);
    if (self.result == io_result::ready) return io_result::ready;  // the event was for this call
    w->lock.acquire();
  }
  if (self.result == io_result::ready) {
    side.may_try = false;
    w->lock.release();
  } else {
    release_side(w, side);
  }
  return self.result;
}

// ---- watching ----

// The set of the processor that the caller holds.
std::uint32_t first_set() noexcept {
  const processor* p = current_machine()->p;
  return p == nullptr ? 0 : poll_set_of(p);
}

// Returns the tag of its events.
std::uint64_t begin(watched* w, int fd, bool is_polled) noexcept {
  detail::lock_guard guard(w->lock);
  w->fd = fd;
  w->set = first_set();
  w->waits = 0;
  w->waits_away = 0;
  w->waits_to_choice = waits_to_first_choice;
  w->is_polled = is_polled;
  w->is_closing.store_relaxed(false);
  w->has_ended = false;
  w->closer = nullptr;
  w->observers = nullptr;
  for (io_side* side : {&w->reading, &w->writing}) {
    side->may_try = true;
    side->has_expired = false;
  }
  return tag_of(w);
}

}  // namespace

watched* watch(int fd, int& error) noexcept {
  watched* w = take_watched();
  error = ENOMEM;
  if (w == nullptr) return nullptr;
  const std::uint64_t tag = begin(w, fd, true);
  error = add_to_set(w->set, fd, tag);
  if (error == 0) return w;
  forget(w);
  return nullptr;
}

watched* hold(int fd) noexcept {
  watched* w = take_watched();
  if (w != nullptr) begin(w, fd, false);
  return w;
}

namespace {

// The goroutines that a close has found waiting. They are woken when the closing goroutine has
// parked.
struct found_waiting {
  watched* w;
  goroutine_list all;

  static void let_go(goroutine*, void* arg) noexcept {
    found_waiting found = std::move(*static_cast<found_waiting*>(arg));  // gone once they have run
    found.w->lock.release();
    ready_all(std::move(found.all));
  }
};

}  // namespace

bool unwatch(watched* w) noexcept {
  w->lock.acquire();
  if (w->is_closing.load_relaxed()) {
    w->lock.release();
    return false;
  }
  w->is_closing.store_relaxed(true);
  found_waiting found = {w, {}};
  collect(take_waiter(w->reading, io_result::closed), found.all);
  collect(take_waiter(w->writing, io_result::closed), found.all);
  alert_observers(w, found.all);
  if (w->users != 0) {
    io_waiter self{.g = current_machine()->g};
    w->closer = &self;
    park(wait::io_close, &found_waiting::let_go, &found);
  } else {
    w->lock.release();
  }
  {
    detail::lock_guard guard(w->deadlines);
    remove_timer(&w->reading);
    remove_timer(&w->writing);
  }
  if (w->is_polled) remove_from_set(w->set, w->fd);
  return true;
}

void forget(watched* w) noexcept { give_watched(w); }

io_result begin_io(watched* w, io_side& side) noexcept {
  w->lock.acquire();
  if (const io_result state = state_of(w, side); state != io_result::ready) {
    w->lock.release();
    return state;
  }
  ++w->users;
  if (std::exchange(side.is_taken, true)) {
    io_waiter self{.g = current_machine()->g};
    stand_in_line(side, &self);
    park_and_release(wait::io_lock, w->lock);
    w->lock.acquire();
  }
  return wait_until_worth_it(w, side);
}

io_result wait_for_event(watched* w, io_side& side) noexcept {
  w->lock.acquire();
  return wait_until_worth_it(w, side);
}

io_result state_of_io(watched* w, const io_side& side) noexcept {
  detail::lock_guard guard(w->lock);
  return state_of(w, side);
}

void end_io(watched* w, io_side& side, bool may_try) noexcept {
  // A read stops at the mark of urgent data; that there is some is no event any more once the
  // program has taken it.
  const bool may_have_mark = platform::is_told_of_urgent_data();
  w->lock.acquire();
  if (may_try || ((w->has_ended || may_have_mark) && &side == &w->reading)) side.may_try = true;
  release_side(w, side);
}

bool begin_use(watched* w) noexcept {
  detail::lock_guard guard(w->lock);
  if (w->is_closing.load_relaxed()) return false;
  ++w->users;
  return true;
}

bool begin_use(watched* w, std::uint16_t sequence) noexcept {
  detail::lock_guard guard(w->lock);
  if (w->sequence != sequence || w->is_closing.load_relaxed()) return false;
  ++w->users;
  return true;
}

std::uint16_t sequence_of(watched* w) noexcept {
  detail::lock_guard guard(w->lock);
  return w->sequence;
}

void end_use(watched* w) noexcept {
  w->lock.acquire();
  goroutine* closer = leave_use(w);
  w->lock.release();
  wake(closer);
}

bool set_deadline(watched* w, io_side& side, std::int64_t when_ns) noexcept {
  detail::lock_guard guard(w->deadlines);
  remove_timer(&side);
  w->lock.acquire();
  const bool is_closing = w->is_closing.load_relaxed();
  side.has_expired = when_ns <= platform::now_ns();
  goroutine_list late;
  if (side.has_expired) {
    collect(take_waiter(side, io_result::timed_out), late);
    alert_observers(w, late);
  }
  const bool is_to_come = !side.has_expired && !is_closing && when_ns != never;
  w->lock.release();
  ready_all(std::move(late));
  return !is_to_come || add_timer(&side, when_ns);
}

}  // namespace sley::rt
