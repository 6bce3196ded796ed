#include "runtime/timer.hpp"

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

namespace {

// So many timers fire under one hold of the heap's lock.
constexpr std::size_t fire_batch = 64;

// Requires the lock.
void publish_first(timer_set& set) noexcept {
  const parts::heap_place* first = set.heap.first();
  set.first_ns.store_relaxed(first == nullptr ? never : first->when_ns);
}

// A machine without a processor, a foreign thread's, arms its timers with the first one.
processor* heap_for(machine* m) noexcept { return m->p != nullptr ? m->p : &sched.processors[0]; }

// Locks the heap that the timer is in, or was in last. Null if it has never been in one.
timer_set* lock_home(timer* t) noexcept {
  for (;;) {  // ends when the timer did not move to another heap meanwhile
    processor* home = t->home.load_acquire("TM-1");
    if (home == nullptr) return nullptr;
    home->timers.lock.acquire();
    if (t->home.load_relaxed() == home) return &home->timers;
    home->timers.lock.release();
  }
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

// Fires up to a batch of due timers; those who become runnable are collected.
bool fire_due(timer_set& set, std::int64_t now_ns, goroutine_list& woken, bool& fired) noexcept {
  detail::lock_guard guard(set.lock);
  std::size_t left = fire_batch;
  while (left > 0) {
    auto* t = static_cast<timer*>(set.heap.first());
    if (t == nullptr || t->when_ns > now_ns) break;
    if (t->period_ns > 0) {
      set.heap.move(t, next_period(t, now_ns));
    } else {
      set.heap.remove(t);
    }
    if (goroutine* g = t->fire(t, now_ns)) woken.push_back(g);
    fired = true;
    --left;
  }
  publish_first(set);
  return left == 0;
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
  t->home.store_release(p, "TM-1");
  set.heap.insert(t, when_ns);
  const bool is_first = set.heap.first() == t;
  publish_first(set);
  set.lock.release();
  if (is_first) timer_armed(when_ns);
  return true;
}

bool remove_timer(timer* t) noexcept {
  timer_set* set = lock_home(t);
  if (set == nullptr) return false;
  const bool was_armed = t->is_in_heap();
  if (was_armed) {
    set->heap.remove(t);
    publish_first(*set);
  }
  set->lock.release();
  return was_armed;
}

void insert_again(timer* t, std::int64_t when_ns) noexcept {
  t->home.load_relaxed()->timers.heap.insert(t, when_ns);  // in the place that it has just left
}

void move_timers(processor* from, processor* to) noexcept {
  detail::lock_guard from_guard(from->timers.lock);
  detail::lock_guard to_guard(to->timers.lock);  // only here is a second heap locked, by one thread
  while (auto* t = static_cast<timer*>(from->timers.heap.first())) {
    SLEY_CHECK(to->timers.heap.reserve_one(), "there is memory for the timers that move");
    from->timers.heap.remove(t);
    t->home.store_release(to, "TM-1");
    to->timers.heap.insert(t, t->when_ns);
  }
  publish_first(from->timers);
  publish_first(to->timers);
}

bool run_due_timers(processor* p) noexcept {
  timer_set& set = p->timers;
  const std::int64_t first = set.first_ns.load_relaxed();
  if (first == never) return false;
  const std::int64_t now = platform::now_ns();
  if (first > now) return false;
  bool fired = false;
  for (bool more = true; more;) {
    goroutine_list woken;
    more = fire_due(set, now, woken, fired);
    while (goroutine* g = woken.pop_front()) {
      if (g->status.get() == parts::status::idle) {
        start(current_machine(), g);
      } else {
        ready(g);
      }
    }
  }
  return fired;
}

}  // namespace sley::rt
