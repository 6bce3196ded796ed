
#include "runtime/source/descriptor.hpp"

#include "base/check.hpp"
#include "parts/registry.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/sched_state.hpp"

#include <new>
#include <utility>

namespace sley::rt {

namespace {

struct record_pool {
  detail::lock lock{detail::lock_rank::descriptors};
  watched* free = nullptr;                           // [lock: lock]
  parts::registry<watched, &watched::next_all> all;  // added to under the lock
};
record_pool watched_records;

// ---- tags: which record an event is for, and in which use of it ----

constexpr int sequence_shift = 48;  // a record's address has 48 bits: make_record()

watched* record_of(std::uint64_t tag) noexcept {
  return reinterpret_cast<watched*>(tag & ((std::uint64_t{1} << sequence_shift) - 1));
}
std::uint16_t sequence_of(std::uint64_t tag) noexcept {
  return static_cast<std::uint16_t>(tag >> sequence_shift);
}

}  // namespace

std::uint64_t tag_of(const watched* w) noexcept {
  return reinterpret_cast<std::uintptr_t>(w) | std::uint64_t{w->sequence} << sequence_shift;
}

// ---- wake-ups ----

goroutine* take_waiter(io_side& side, io_result result) noexcept {
  io_waiter* waiter = std::exchange(side.waiter, nullptr);
  if (waiter == nullptr) return nullptr;
  waiter->result = result;
  platform::passes_order(&waiter->g->strand);
  return waiter->g;
}

goroutine* alert(io_observer& o) noexcept {
  o.is_alerted = true;
  goroutine* g = o.tell == nullptr ? std::exchange(o.g, nullptr) : o.tell(o);
  if (g != nullptr) platform::passes_order(&g->strand);
  return g;
}

void alert_observers(watched* w, goroutine_list& woken) noexcept {
  for (io_observer* o = w->observers; o != nullptr; o = o->next) {
    if (goroutine* g = alert(*o)) woken.push_back(g);
  }
}

namespace {

// A side's deadline has passed: alerts an observer of that side, which then alerts the others.
// Null: none of them is parked.
goroutine* alert_one_in_time(watched* w, const io_side& late) noexcept {
  for (io_observer* o = w->observers; o != nullptr; o = o->next) {
    const bool is_concerned = &late == &w->reading ? o->reads : o->writes;
    goroutine* g = is_concerned ? alert(*o) : nullptr;
    if (g != nullptr) return g;
  }
  return nullptr;
}

// A timer makes one goroutine ready.
goroutine* expire(timer* t, std::int64_t) noexcept {
  auto* side = static_cast<io_side*>(t);
  detail::lock_guard guard(side->owner->lock);
  side->has_expired = true;
  if (goroutine* waiter = take_waiter(*side, io_result::timed_out)) return waiter;
  return alert_one_in_time(side->owner, *side);
}

goroutine* sound(timer* t, std::int64_t) noexcept {
  const auto* alarm = static_cast<io_alarm*>(t);
  detail::lock_guard guard(alarm->of->lock);
  alarm->observer.end = io_result::timed_out;
  return alert(alarm->observer);
}

}  // namespace

io_alarm::io_alarm(watched* w, io_observer& o) noexcept : of(w), observer(o) { fire = &sound; }

namespace {

// ---- records ----

watched* make_record() noexcept {
  void* place = allocate_permanently(sizeof(watched));
  if (place == nullptr) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(place) >> sequence_shift != 0) {
    base::fatal("sley: the kernel maps memory at addresses of more than 48 bits");
  }
  auto* w = ::new (place) watched;
  for (io_side* side : {&w->reading, &w->writing}) {
    side->owner = w;
    side->fire = &expire;
  }
  return w;
}

// Requires the pool's lock.
watched* take_free() noexcept {
  if (watched* w = watched_records.free) {
    watched_records.free = w->next_free;
    return w;
  }
  watched* w = make_record();
  if (w == nullptr) return nullptr;
  watched_records.all.add(w);
  return w;
}

// Requires the pool's lock.
void count_records(int change) noexcept {
  sched.watched_count.publish(sched.watched_count.read_relaxed() +
                              static_cast<std::uint32_t>(change));
}

}  // namespace

watched* take_watched() noexcept {
  detail::lock_guard guard(watched_records.lock);
  watched* w = take_free();
  if (w != nullptr) count_records(1);
  return w;
}

void give_watched(watched* w) noexcept {
  {
    detail::lock_guard guard(w->lock);
    ++w->sequence;  // events from before are too late
  }
  detail::lock_guard guard(watched_records.lock);
  w->next_free = std::exchange(watched_records.free, w);
  count_records(-1);
}

// ---- events ----

namespace {

goroutine* signal(io_side& side) noexcept {
  side.may_try = side.waiter == nullptr;
  return take_waiter(side, io_result::ready);
}

void deliver_one(const platform::poll_event& event, goroutine_list& woken) noexcept {
  watched* w = record_of(event.tag);
  detail::lock_guard guard(w->lock);
  if (w->sequence != sequence_of(event.tag)) return;
  if (event.has_ended) w->has_ended = true;
  if (event.is_readable) collect(signal(w->reading), woken);
  if (event.is_writable) collect(signal(w->writing), woken);
  if (w->observers != nullptr) alert_observers(w, woken);
}

}  // namespace

bool is_any_in_io() noexcept {
  for (watched* w : watched_records.all) {
    detail::lock_guard guard(w->lock);
    if (w->users != 0) return true;
  }
  return false;
}

goroutine_list deliver(std::span<const platform::poll_event> events) noexcept {
  goroutine_list woken;
  // An event comes by way of the kernel, which orders it, but not in the language's terms: PB-1.
  static_cast<void>(sched.watched_count.read());
  for (const platform::poll_event& event : events) deliver_one(event, woken);
  return woken;
}

}  // namespace sley::rt
