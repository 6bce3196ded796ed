
#include "runtime/source/timers.hpp"

#include "base/prefetch.hpp"
#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/source/prefetch.hpp"
#include "runtime/source/timer_hold.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <cstddef>

namespace sley::rt {

namespace {

// Due timers wait at most this long until there is room for a batch of them.
constexpr std::int64_t longest_without_room_ns = 1'000'000;

// A foreign thread's machine has no processor, and arms its timers on the first one.
processor* heap_for(machine* m) noexcept { return m->p != nullptr ? m->p : &sched.processors[0]; }

// Takes the lock and ensures room for one more timer. False if there is no memory; the lock is not
// taken then.
bool lock_with_room(timer_set& set) noexcept {
  set.lock.acquire();
  if (set.heap.reserve_one()) return true;
  set.lock.release();
  return false;
}

// The timer is in no heap, its home heap is locked, and that heap's processor is gone. Makes the
// heap of the first processor, which always exists, its home, and exchanges the locks.
timer_set* move_home(timer* t, timer_set* closed) noexcept {
  processor* first = &sched.processors[0];
  first->timers.lock.acquire();  // after the other, as in close_timers
  t->home.publish(first);
  closed->lock.release();
  return &first->timers;
}

// The next time of a periodic timer. Missed times are left out.
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

// The goroutines that a batch of timers makes runnable.
struct woken_list {
  goroutine* all[most_fired_at_once];
  std::size_t size = 0;
  bool are_many_waiting = false;  // in the heap of the batch
};

// The first element of a heap: one of the two is null.
struct due_element {
  timer* t;
  goroutine* sleeper;
};

due_element first_of(const timer_set& set) noexcept {
  return {static_cast<timer*>(set.heap.first()), static_cast<goroutine*>(set.heap.first_guest())};
}

// Requires the lock. Removes up to `limit` due elements from the heap and prefetches their memory.
std::size_t take_due(timer_set& set, std::int64_t now_ns, std::size_t limit,
                     due_element (&due)[most_fired_at_once]) noexcept {
  std::size_t count = 0;
  while (count < limit && !set.heap.is_empty() && set.heap.first_when_ns() <= now_ns) {
    due[count] = first_of(set);
    __builtin_prefetch(due[count].t);
    __builtin_prefetch(due[count].sleeper);
    set.heap.pop_first();
    ++count;
  }
  return count;
}

// Requires the lock. There is room in the heap, because the timer has just left it. A periodic
// timer is rearmed by the present time: the thread may have waited for the lock or for a CPU since
// it read `now_ns`, and ticks that are over would fire right after this one.
goroutine* fire(timer_set& set, timer* t, std::int64_t now_ns) noexcept {
  if (t->period_ns > 0) {
    now_ns = platform::now_ns();
    set.heap.insert(t, next_period(t, now_ns));
  }
  const platform::seen seen;
  platform::takes_order(t);
  goroutine* g = t->fire(t, now_ns);
  platform::passes_order(t);
  return g;
}

// The number of goroutines that fit into the local queue and the next slot, which is free again
// soon. A goroutine that does not fit would go to the end of the global queue. So its timer stays
// in the heap, which keeps deadline order.
std::size_t room_of(const processor* p) noexcept {
  return p->queue.room() + (p->next.is_empty() ? 1 : 0);
}

// The number of due timers that may fire now. If goroutines wait in the global queue, timers get
// half of the room: admit_global() in find_runnable.cpp fills the other half from there.
std::size_t most_to_fire(const processor* p) noexcept {
  const std::size_t room = room_of(p);
  return std::min(most_fired_at_once, sched.queue.is_empty() ? room : room / 2);
}

// Fires up to a batch of due timers. Returns their number.
std::size_t fire_due(timer_set& set, std::int64_t now_ns, std::size_t limit,
                     woken_list& woken) noexcept {
  due_element due[most_fired_at_once];
  detail::lock_guard guard(set.lock);
  woken.are_many_waiting = set.heap.size() >= many_waiting;
  const std::size_t count = take_due(set, now_ns, limit, due);
  for (std::size_t i = 0; i < count; ++i) {
    const due_element& e = due[i];
    goroutine* g = e.sleeper != nullptr ? e.sleeper : fire(set, e.t, now_ns);
    if (g == nullptr) continue;
    base::prefetch(g);
    woken.all[woken.size++] = g;
  }
  publish_first(set);
  return count;
}

}  // namespace

bool add_timer(timer* t, std::int64_t when_ns) noexcept {
  platform::passes_order(t);
  const platform::unseen unseen;
  processor* p = heap_for(current_machine());
  if (!lock_with_room(p->timers)) return false;
  t->home.publish(p);
  p->timers.heap.insert(t, when_ns);
  publish_and_release(p->timers, when_ns);
  return true;
}

bool add_sleeper(goroutine* g, std::int64_t when_ns) noexcept {
  const platform::unseen unseen;
  timer_set& set = heap_for(current_machine())->timers;
  if (!lock_with_room(set)) return false;
  set.heap.insert_guest(g, when_ns);
  publish_and_release(set, when_ns);
  return true;
}

bool remove_timer(timer* t) noexcept {
  if (t->home.read_relaxed() == nullptr) return false;  // never armed; else timer_hold decides
  return timer_hold(t).disarm();
}

bool timer_hold::arm(std::int64_t when_ns) noexcept {
  const platform::unseen unseen;
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
  const platform::unseen unseen;
  t->home.read_relaxed()->timers.heap.insert(t, when_ns);  // the timer has just left this heap
}

// Only this function and move_home lock a second heap, that of the first processor, which never
// goes.
void close_timers(processor* p) noexcept {
  processor* first = &sched.processors[0];
  timer_set& from = p->timers;
  detail::lock_guard from_guard(from.lock);
  detail::lock_guard to_guard(first->timers.lock);
  while (!from.heap.is_empty()) {
    SLEY_CHECK(first->timers.heap.reserve_one(), "there is memory for the timers that move");
    const std::int64_t when_ns = from.heap.first_when_ns();
    const due_element e = first_of(from);
    from.heap.pop_first();
    if (e.sleeper != nullptr) {
      first->timers.heap.insert_guest(e.sleeper, when_ns);
    } else {
      e.t->home.publish(first);
      first->timers.heap.insert(e.t, when_ns);
    }
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
  processor* own = current_machine()->p;
  const bool have_waited = now - own->fired_at_ns >= longest_without_room_ns;
  if (most_to_fire(own) < (have_waited ? 1 : most_fired_at_once)) return false;
  own->fired_at_ns = now;
  bool fired = false;
  for (bool more = true; more;) {
    woken_list woken;
    const std::size_t count = fire_due(set, now, most_to_fire(own), woken);
    if (woken.are_many_waiting) prefetch_stacks({woken.all, woken.size});
    for (std::size_t i = 0; i < woken.size; ++i) {
      goroutine* g = woken.all[i];
      const platform::seen seen;
      if (g->status.get() == parts::status::idle) {
        start(current_machine(), g);
      } else {
        ready(g);
      }
    }
    fired = fired || count != 0;
    more = count == most_fired_at_once && sched.queue.is_empty();
  }
  return fired;
}

void run_all_due_timers() noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();  // constant while a processor is held
  for (std::uint32_t i = 0; i < procs; ++i) run_due_timers(&sched.processors[i]);
}

}  // namespace sley::rt
