#include "runtime/timer.hpp"

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timer_hold.hpp"

#include <algorithm>
#include <cstddef>

namespace sley::rt {

namespace {

// So many timers fire under one hold of the heap's lock.
constexpr std::size_t fire_batch = 64;

// A machine without a processor, a foreign thread's, arms its timers with the first one.
processor* heap_for(machine* m) noexcept { return m->p != nullptr ? m->p : &sched.processors[0]; }

// The timer is not in its heap, which is locked, and whose processor is gone: the first one's,
// which always is, becomes its heap, and is locked.
timer_set* move_home(timer* t, timer_set* closed) noexcept {
  processor* first = &sched.processors[0];
  first->timers.lock.acquire();  // after the other, as in close_timers
  t->home.publish(first);
  closed->lock.release();
  return &first->timers;
}

// The next time of a periodic timer: missed ones are left out.
std::int64_t next_period(const timer* t, std::int64_t now_ns) noexcept {
  const std::int64_t late = now_ns - t->when_ns;
  const std::int64_t periods = 1 + late / t->period_ns;
  std::int64_t step;
  std::int64_t next;
  if (__builtin_mul_overflow(t->period_ns, periods, &step) ||
      __builtin_add_overflow(t->when_ns, step, &next)) {
    return never;
  }
  return next;
}

// Goroutines that timers have made runnable.
struct woken_list {
  goroutine* all[fire_batch];
  std::size_t size = 0;
};

// Requires the lock. Takes up to `limit` due timers out of the heap. Nobody has touched them since
// they were armed, often 100,000 others ago: their memory is asked for here and used by fire().
std::size_t take_due(timer_set& set, std::int64_t now_ns, std::size_t limit,
                     timer* (&due)[fire_batch]) noexcept {
  std::size_t count = 0;
  while (count < limit && !set.heap.is_empty() && set.heap.first_when_ns() <= now_ns) {
    auto* t = static_cast<timer*>(set.heap.first());
    __builtin_prefetch(t);
    set.heap.pop_first();
    due[count++] = t;
  }
  return count;
}

// Requires the lock. There is room in the heap where the timer was. A periodic one goes by the
// clock of this moment: since it read `now_ns` the thread may have waited for the lock or for a
// CPU, and ticks that are over by now would come right after this one.
goroutine* fire(timer_set& set, timer* t, std::int64_t now_ns) noexcept {
  if (t->period_ns > 0) {
    now_ns = platform::now_ns();
    set.heap.insert(t, next_period(t, now_ns));
  }
  return t->fire(t, now_ns);
}

// What finds no place in the queue would go behind all that is in the global one. So it stays in
// the heap, where who is due first is first. The next slot is free again soon, whatever is in the
// queue.
std::size_t room_of(const processor* p) noexcept {
  return p->queue.room() + (p->next.is_empty() ? 1 : 0);
}

// It runs soon: the cache lines that it comes back to, of its first few frames.
void prefetch_frames(const goroutine* g) noexcept {
  const auto* top = static_cast<const char*>(g->context.stack_pointer);
  for (std::size_t line = 0; line < 6; ++line) __builtin_prefetch(top + 64 * line);
}

// Fires up to a batch of due timers. How many.
std::size_t fire_due(timer_set& set, std::int64_t now_ns, std::size_t limit,
                     woken_list& woken) noexcept {
  timer* due[fire_batch];
  detail::lock_guard guard(set.lock);
  const std::size_t count = take_due(set, now_ns, limit, due);
  for (std::size_t i = 0; i < count; ++i) {
    goroutine* g = fire(set, due[i], now_ns);
    if (g == nullptr) continue;
    __builtin_prefetch(g);
    woken.all[woken.size++] = g;
  }
  publish_first(set);
  return count;
}

}  // namespace

bool add_timer(timer* t, std::int64_t when_ns) noexcept {
  processor* p = heap_for(current_machine());
  timer_set& set = p->timers;
  set.lock.acquire();
  if (!set.heap.reserve_one()) {
    set.lock.release();
    return false;
  }
  t->home.publish(p);
  set.heap.insert(t, when_ns);
  publish_and_release(set, t);
  return true;
}

bool remove_timer(timer* t) noexcept {
  if (t->home.read_relaxed() == nullptr) return false;  // never armed; timer_hold looks again
  return timer_hold(t).disarm();
}

bool timer_hold::arm(std::int64_t when_ns) noexcept {
  if (t_->is_in_heap()) {
    set_->heap.move(t_, when_ns);
  } else {
    if (set_->is_closed) set_ = move_home(t_, set_);
    if (!set_->heap.reserve_one()) return false;
    set_->heap.insert(t_, when_ns);
  }
  has_armed_ = true;
  return true;
}

void insert_again(timer* t, std::int64_t when_ns) noexcept {
  t->home.read_relaxed()->timers.heap.insert(t, when_ns);  // in the place that it has just left
}

// A second heap is locked only here and in move_home: the first processor's, which never goes.
void close_timers(processor* p) noexcept {
  processor* first = &sched.processors[0];
  timer_set& from = p->timers;
  detail::lock_guard from_guard(from.lock);
  detail::lock_guard to_guard(first->timers.lock);
  while (auto* t = static_cast<timer*>(from.heap.first())) {
    SLEY_CHECK(first->timers.heap.reserve_one(), "there is memory for the timers that move");
    from.heap.pop_first();
    t->home.publish(first);
    first->timers.heap.insert(t, t->when_ns);
  }
  from.is_closed = true;
  publish_first(from);
  publish_first(first->timers);
}

void open_timers(processor* p) noexcept {
  detail::lock_guard guard(p->timers.lock);
  p->timers.is_closed = false;
}

bool run_due_timers(processor* p) noexcept {
  timer_set& set = p->timers;
  const std::int64_t first = set.first_ns.load_relaxed();
  if (first == never) return false;
  const std::int64_t now = platform::now_ns();
  if (first > now) return false;
  bool fired = false;
  for (bool more = true; more;) {
    const std::size_t limit = std::min(fire_batch, room_of(current_machine()->p));
    woken_list woken;
    const std::size_t count = fire_due(set, now, limit, woken);
    for (std::size_t i = 0; i < woken.size; ++i) {
      goroutine* g = woken.all[i];
      if (g->status.get() == parts::status::idle) {
        start(current_machine(), g);
      } else {
        prefetch_frames(g);
        ready(g);
      }
    }
    fired = fired || count != 0;
    more = count == fire_batch;
  }
  return fired;
}

void run_all_due_timers() noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();  // who holds one sees it stand still
  for (std::uint32_t i = 0; i < procs; ++i) run_due_timers(&sched.processors[i]);
}

}  // namespace sley::rt
