
#include "runtime/run/netpoll.hpp"

#include "platform/call_batch.hpp"
#include "platform/decisions.hpp"
#include "platform/interrupt.hpp"
#include "platform/unseen.hpp"
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
  self->next = nullptr;
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

// The goroutine of a waiter that stands in line, which it leaves; else null.
goroutine* leave_line(io_side& side, io_waiter& leaving) noexcept {
  io_waiter* before = nullptr;
  io_waiter* at = side.first_in_line;
  while (at != nullptr && at != &leaving) before = std::exchange(at, at->next);
  if (at == nullptr) return nullptr;
  (before == nullptr ? side.first_in_line : before->next) = at->next;
  if (side.last_in_line == at) side.last_in_line = before;
  return at->g;
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
  const io_result ended = w->ended_by.load_relaxed();  // the lock orders it
  if (ended != io_result::ready) return ended;
  return side.has_expired ? io_result::timed_out : io_result::ready;
}

// `end` is how the operation's context has ended; null: it has none.
io_result state_of(const watched* w, const io_side& side, const io_result* end) noexcept {
  return end == nullptr || *end == io_result::ready ? state_of(w, side) : *end;
}

// What follows is inlined: a return after a switch is slow, and without a context there is nothing
// of it to look at.

// The caller holds the side. Releases the lock.
[[gnu::always_inline]] inline io_result wait_until_worth_it(watched* w, io_side& side,
                                                            io_waiter& self,
                                                            const io_result* end) noexcept {
  self.g = current_machine()->g;
  self.result = state_of(w, side, end);
  if (self.result == io_result::ready && !side.may_try) {
    if (&side == &w->reading) note_wait(w, current_machine()->p);
    side.waiter = &self;
    park_and_release(wait::io, nullptr, w->lock);
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

// Takes the lock, and releases it.
[[gnu::always_inline]] inline io_result begin_and_wait(watched* w, io_side& side, io_waiter& self,
                                                       const io_result* end) noexcept {
  w->lock.acquire();
  if (const io_result state = state_of(w, side, end); state != io_result::ready) {
    w->lock.release();
    return state;
  }
  ++w->users;
  if (std::exchange(side.is_taken, true)) {
    self.g = current_machine()->g;
    self.result = io_result::ready;
    stand_in_line(side, &self);
    park_and_release(wait::io_lock, nullptr, w->lock);
    w->lock.acquire();
    if (self.result != io_result::ready) {  // it has left the line
      goroutine* closer = leave_use(w);
      w->lock.release();
      wake(closer);
      return self.result;
    }
  }
  return wait_until_worth_it(w, side, self, end);
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
  w->may_batch.store_relaxed(false);
  w->ended_by.store_relaxed(io_result::ready);
  ++w->binding;  // hooks from before are too late
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
  if (w == nullptr) return nullptr;
  begin(w, fd, false);
  w->may_batch.store_relaxed(sched.batches_calls && !platform::is_direct(fd));
  return w;
}

namespace {

bool is_closed(const watched* w) noexcept {
  return w->ended_by.load_relaxed() == io_result::closed;  // the lock orders it
}

// All operations fail from now on. Requires the lock; what it collects must be made ready.
void end_all(watched* w, io_result why, goroutine_list& woken) noexcept {
  w->ended_by.store_relaxed(why);  // the lock orders it
  collect(take_waiter(w->reading, why), woken);
  collect(take_waiter(w->writing, why), woken);
  alert_observers(w, woken);
}

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
  if (is_closed(w)) {
    w->lock.release();
    return false;
  }
  found_waiting found = {w, {}};
  end_all(w, io_result::closed, found.all);
  if (w->users != 0) {
    io_waiter self{.g = current_machine()->g};
    w->closer = &self;
    platform::passes_order(&w->lock);
    park(wait::io_close, nullptr, &found_waiting::let_go, &found);
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
  io_waiter self;
  return begin_and_wait(w, side, self, nullptr);
}
io_result begin_io(watched* w, io_side& side, io_waiter& self) noexcept {
  return begin_and_wait(w, side, self, &self.end);
}

bool try_begin_io(watched* w, io_side& side) noexcept {
  detail::lock_guard guard(w->lock);
  if (state_of(w, side) != io_result::ready || side.is_taken || !side.may_try) return false;
  ++w->users;
  side.is_taken = true;
  side.may_try = false;
  return true;
}

io_result wait_for_event(watched* w, io_side& side) noexcept {
  io_waiter self;
  w->lock.acquire();
  return wait_until_worth_it(w, side, self, nullptr);
}
io_result wait_for_event(watched* w, io_side& side, io_waiter& self) noexcept {
  w->lock.acquire();
  return wait_until_worth_it(w, side, self, &self.end);
}

void end_waits(watched* w, io_side& side, io_waiter& of, io_result why) noexcept {
  w->lock.acquire();
  of.end = why;
  goroutine* parked = nullptr;
  if (side.waiter == &of) {
    parked = take_waiter(side, why);
  } else if ((parked = leave_line(side, of)) != nullptr) {
    of.result = why;
  }
  w->lock.release();
  wake(parked);
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

io_result begin_use(watched* w) noexcept {
  detail::lock_guard guard(w->lock);
  const io_result ended = w->ended_by.load_relaxed();  // the lock orders it
  if (ended == io_result::ready) ++w->users;
  return ended;
}

bool begin_use(watched* w, std::uint16_t sequence) noexcept {
  detail::lock_guard guard(w->lock);
  if (w->sequence != sequence || is_closed(w)) return false;
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
  const bool was_closed = is_closed(w);
  side.has_expired = when_ns <= platform::now_ns();
  goroutine_list late;
  if (side.has_expired) {
    collect(take_waiter(side, io_result::timed_out), late);
    alert_observers(w, late);
  }
  const bool is_to_come = !side.has_expired && !was_closed && when_ns != never;
  w->lock.release();
  ready_all(std::move(late));
  return !is_to_come || add_timer(&side, when_ns);
}

std::uint64_t renew_binding(watched* w, void*& former) noexcept {
  detail::lock_guard guard(w->lock);
  former = std::exchange(w->bound, nullptr);
  if (!is_closed(w)) w->ended_by.store_relaxed(io_result::ready);  // the lock orders it
  return ++w->binding;
}

void end_bound(watched* w, std::uint64_t binding, io_result why) noexcept {
  goroutine_list woken;
  w->lock.acquire();
  if (w->binding == binding && !is_closed(w)) end_all(w, why, woken);
  w->lock.release();
  ready_all(std::move(woken));
}

bool keep_binding(watched* w, std::uint64_t binding, void* hook) noexcept {
  detail::lock_guard guard(w->lock);
  if (w->binding != binding || is_closed(w)) return false;
  w->bound = hook;
  return true;
}

}  // namespace sley::rt
