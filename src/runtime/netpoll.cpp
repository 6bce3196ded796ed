#include "runtime/netpoll.hpp"

#include "base/check.hpp"
#include "base/published.hpp"
#include "parts/registry.hpp"
#include "platform/decisions.hpp"
#include "platform/interrupt.hpp"
#include "platform/poller.hpp"
#include "runtime/records.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/watch_sets.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace sley::rt {

namespace {

struct record_pool {
  detail::lock lock{detail::lock_rank::descriptors};
  watched* free = nullptr;                           // [lock: lock]
  parts::registry<watched, &watched::next_all> all;  // added to under the lock
  base::published<std::uint32_t> in_use;             // their number; changed under the lock
};
record_pool records;

// ---- tags: which record an event is for, and in which use of it ----

constexpr int sequence_shift = 48;  // user addresses have 47 bits

std::uint64_t tag_of(const watched* w) noexcept {
  return reinterpret_cast<std::uintptr_t>(w) | std::uint64_t{w->sequence} << sequence_shift;
}
watched* record_of(std::uint64_t tag) noexcept {
  return reinterpret_cast<watched*>(tag & ((std::uint64_t{1} << sequence_shift) - 1));
}
std::uint16_t sequence_of(std::uint64_t tag) noexcept {
  return static_cast<std::uint16_t>(tag >> sequence_shift);
}

// ---- which set a descriptor is watched in: requires the record's lock ----

// The set is chosen at each 16th wait on average. The number is random, because both ends of a
// connection may choose: at the same time, each would go where the other has just left.
constexpr std::uint32_t most_waits_between_choices = 32;
constexpr std::uint8_t waits_to_first_choice = 4;  // short connections stay where they were made

// The processor in use whose machine was on this CPU at its last look for events; else null.
const processor* processor_on(int cpu) noexcept {
  if (cpu < 0) return nullptr;
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    const processor& p = sched.processors[i];
    if (p.cpu.load_relaxed() == cpu && p.m.read() != nullptr) return &p;
  }
  return nullptr;
}

// If the new set refuses it, the descriptor stays where it is. A change meanwhile is an event of
// both sets; a superfluous event does no harm.
void move_to_set(watched* w, std::uint32_t set) noexcept {
  if (add_to_set(set, w->fd, tag_of(w)) != 0) return;
  remove_from_set(w->set, w->fd);
  w->set = set;
}

// A reader goes on where its events are found. If it has mostly waited away from its set of late,
// because machines with less work took it, choose its present place. Else choose the CPU where the
// packets come in, because its caches have their contents, and often the other end runs there.
[[gnu::noinline]] void choose_watch_set(watched* w, processor* p) noexcept {
  const bool is_mostly_away = w->waits_away > w->waits / 3;
  w->waits = 0;
  w->waits_away = 0;
  w->waits_to_choice =
      static_cast<std::uint8_t>(1 + platform::draw_below(p->random, most_waits_between_choices));
  const processor* to = is_mostly_away ? p : processor_on(platform::incoming_cpu(w->fd));
  const std::uint32_t wanted = to != nullptr ? watch_set_of(to) : w->set;
  const std::uint32_t set = platform::watched_in(wanted, sched.watch_set_count.read());
  if (set != w->set) move_to_set(w, set);
}

// A reader is about to wait for an event, on this processor; null: on a thread without one.
[[gnu::always_inline]] inline void note_wait(watched* w, processor* p) noexcept {
  if (p == nullptr || !w->is_polled || sched.watch_set_count.read_relaxed() == 1) return;
  ++w->waits;
  if (watch_set_of(p) != w->set) ++w->waits_away;
  if (w->waits >= w->waits_to_choice) choose_watch_set(w, p);
}

// ---- waiting: all of this requires the record's lock ----

// Returns the goroutine that waits for an event of this side, or null. It must be made ready once
// the lock is free.
goroutine* take_waiter(io_side& side, io_result result) noexcept {
  io_waiter* waiter = std::exchange(side.waiter, nullptr);
  if (waiter == nullptr) return nullptr;
  waiter->result = result;
  return waiter->g;
}

goroutine* signal(io_side& side) noexcept {
  side.may_try = side.waiter == nullptr;
  return take_waiter(side, io_result::ready);
}

void stand_in_line(io_side& side, io_waiter* self) noexcept {
  (side.first_in_line == nullptr ? side.first_in_line : side.last_in_line->next) = self;
  side.last_in_line = self;
}

// The turn goes to the next in line. Returns that goroutine, which must be made ready.
goroutine* pass_turn(io_side& side) noexcept {
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
void give_up_turn(watched* w, io_side& side) noexcept {
  goroutine* closer = leave_use(w);
  goroutine* next = pass_turn(side);
  w->lock.release();
  wake(next);
  wake(closer);
}

io_result state_of(const watched* w, const io_side& side) noexcept {
  if (w->is_closing.load_relaxed()) return io_result::closed;
  return side.has_expired ? io_result::timed_out : io_result::ready;
}

// The caller has the turn. Releases the lock. Inlined: a return after a switch is slow.
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
    give_up_turn(w, side);
  }
  return self.result;
}

// A timer makes one goroutine ready.
goroutine* expire(timer* t, std::int64_t) noexcept {
  auto* side = static_cast<io_side*>(t);
  detail::lock_guard guard(side->owner->lock);
  side->has_expired = true;
  if (goroutine* waiter = take_waiter(*side, io_result::timed_out)) return waiter;
  return alert_one_in_time(side->owner, *side);
}

// ---- records ----

watched* make_record() noexcept {
  void* place = allocate_permanently(sizeof(watched));
  if (place == nullptr) return nullptr;
  auto* w = ::new (place) watched;
  for (io_side* side : {&w->reading, &w->writing}) {
    side->owner = w;
    side->fire = &expire;
  }
  return w;
}

// Requires the pool's lock.
watched* take_free() noexcept {
  if (watched* w = records.free) {
    records.free = w->next_free;
    return w;
  }
  watched* w = make_record();
  if (w == nullptr) return nullptr;
  records.all.add(w);
  return w;
}

void count_records(int change) noexcept {
  records.in_use.publish(records.in_use.read_relaxed() + static_cast<std::uint32_t>(change));
}

watched* take_record() noexcept {
  detail::lock_guard guard(records.lock);
  watched* w = take_free();
  if (w != nullptr) count_records(1);
  return w;
}

// ---- events ----

void collect(goroutine* g, goroutine_list& woken) noexcept {
  if (g != nullptr) woken.push_back(g);
}

void deliver(const platform::poll_event& event, goroutine_list& woken) noexcept {
  watched* w = record_of(event.tag);
  detail::lock_guard guard(w->lock);
  if (w->sequence != sequence_of(event.tag)) return;
  if (event.has_ended) w->has_ended = true;
  if (event.is_readable) collect(signal(w->reading), woken);
  if (event.is_writable) collect(signal(w->writing), woken);
  if (w->observers != nullptr) alert_observers(w, woken);
}

// ---- watching ----

// The set of the processor that the caller holds.
std::uint32_t first_set() noexcept {
  const processor* p = current_machine()->p;
  return p == nullptr ? 0 : watch_set_of(p);
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

void note_wait_to_read(watched* w) noexcept { note_wait(w, current_machine()->p); }

watched* watch(int fd, int& error) noexcept {
  watched* w = take_record();
  error = ENOMEM;
  if (w == nullptr) return nullptr;
  const std::uint64_t tag = begin(w, fd, true);
  error = add_to_set(w->set, fd, tag);
  if (error == 0) return w;
  forget(w);
  return nullptr;
}

watched* hold(int fd) noexcept {
  watched* w = take_record();
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

void forget(watched* w) noexcept {
  {
    detail::lock_guard guard(w->lock);
    ++w->sequence;  // events from before are too late
  }
  detail::lock_guard guard(records.lock);
  w->next_free = std::exchange(records.free, w);
  count_records(-1);
}

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
    park_and_release(wait::io_turn, w->lock);
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
  give_up_turn(w, side);
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

bool is_anything_watched() noexcept { return records.in_use.read_relaxed() != 0; }

bool is_anybody_in_io() noexcept {
  for (watched* w : records.all) {
    detail::lock_guard guard(w->lock);
    if (w->users != 0) return true;
  }
  return false;
}

goroutine_list deliver(std::span<const platform::poll_event> events) noexcept {
  goroutine_list woken;
  // An event comes by way of the kernel, which orders it, but not in the language's terms: PB-1.
  static_cast<void>(records.in_use.read());
  for (const platform::poll_event& event : events) deliver(event, woken);
  return woken;
}

}  // namespace sley::rt
