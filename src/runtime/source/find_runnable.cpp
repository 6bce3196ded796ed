// Decides which goroutine runs next. From Go's findRunnable.
#include "runtime/source/find_runnable.hpp"

#include "platform/decisions.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/source/poll.hpp"
#include "runtime/source/prefetch.hpp"
#include "runtime/source/steal.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <utility>

namespace sley::rt {

namespace {

// A processor with timers reads the clock at most this often: once in a few microseconds.
constexpr std::uint64_t clock_interval_cycles = 10'000;
// A slice that goroutines inherit is checked for its end after this many of them.
constexpr std::uint32_t slice_check_interval = 64;

// Due timers are left to the slow path, because firing one takes locks.
bool timers_are_due(processor* p) noexcept {
  const std::int64_t first = p->timers.first_ns.load_relaxed();
  if (first == never) return false;
  const std::uint64_t cycles = platform::cycle_counter();
  if (cycles - p->clock_read_cycles < clock_interval_cycles) return false;
  p->clock_read_cycles = cycles;
  return first <= platform::now_ns();
}

// Goroutines that make each other runnable share one time slice: is it over?
bool slice_is_over(processor* p) noexcept {
  if (++p->inherited % slice_check_interval != 0) return false;
  const std::int64_t now = platform::now_ns();
  if (p->inherited == slice_check_interval) p->slice_end_ns = now + debug_options().slice_ns;
  return now >= p->slice_end_ns;
}

// Takes the next slot: the goroutine that was just made runnable, in the slice of its waker. When
// that slice is over, the goroutine goes to the end of the global queue.
inline goroutine* take_next(processor* p) noexcept {
  goroutine* g = p->next.take();
  if (g == nullptr || !platform::ends_slice(slice_is_over(p))) return g;
  count(p->figures.preemptions);
  run_last(g);
  return nullptr;
}

bool wants_global_first(const processor* p) noexcept {
  return p->tick.load_relaxed() % fairness_tick == 0 && !sched.queue.is_empty();
}

// Takes a batch from the global queue, which is not empty.
goroutine_list take_share(std::size_t most) noexcept {
  const std::uint32_t procs = sched.procs.read();
  const bool are_many = sched.queue.size() >= many_waiting;
  goroutine_list share = sched.queue.take_share(procs, most, waits_on_its_thread);
  if (are_many) prefetch(share);
  return share;
}

// Returns the first goroutine of a batch and puts the others into the local queue, which is empty.
goroutine* take_global(processor* p) noexcept {
  if (sched.queue.is_empty()) return nullptr;
  goroutine_list share = take_share(queue_capacity / 2);
  goroutine* first = share.pop_front();
  p->queue.push_all([&share] { return share.pop_front(); });
  return first;
}

// Timer wake-ups fill the local queue. So that a steady stream of them cannot starve the global
// queue, an equal number is admitted from there. Exception: a goroutine whose own thread waits for
// its turn stays in the global queue, because machines look for such goroutines only there. Running
// it at once would give it a whole slice ahead of all local goroutines.
void admit_global(processor* p) noexcept {
  if (sched.queue.is_empty() || p->queue.room() < most_fired_at_once) return;
  goroutine_list share = take_share(most_fired_at_once);
  if (!share.is_empty() && waits_on_its_thread(share.front())) {
    sched.queue.prepend(std::move(share));
    return;
  }
  p->queue.push_all([&share] { return share.pop_front(); });
}

// Looks at the queues of other processors, unless enough machines search already.
goroutine* search(machine* m, bool& ran_timers) noexcept {
  if (!m->is_searching) {
    if (!sched.gate.start_searching()) return nullptr;
    m->is_searching = true;
  }
  return steal_work(m, ran_timers);
}

// Lowers the flags of requests that this round of find_runnable attends to.
void see_to_requests(machine* m) noexcept {
  using parts::border;
  const std::uint32_t lowered =
      m->border.lower(border::stop | border::preempt | border::give | border::moves);
  if ((lowered & border::moves) != 0) move_as_asked(m);
}

// The goroutine cannot be switched to directly: puts it back and leaves it to the slow path.
[[gnu::noinline]] local_pick leave_to_slow_way(processor* p, goroutine* g) noexcept {
  goroutine* displaced = p->next.put(g);
  SLEY_CHECK(displaced == nullptr, "the next slot is empty when the queue is looked at");
  return {nullptr, false};
}

}  // namespace

local_pick next_local(machine* m, parts::stack* warm) noexcept {
  processor* p = m->p;
  if (m->border.attention() != 0 || timers_are_due(p)) return {nullptr, false};
  goroutine* g = take_next(p);
  if (g == nullptr) {
    if (wants_global_first(p)) return {nullptr, false};
    g = p->queue.pop();
    if (g == nullptr) return {nullptr, true};
    begin_slice(p);
  }
  if (const std::uint8_t needs = g->needs.load_acquire("TR-1"); needs != 0) {
    if (needs != needs_stack) return leave_to_slow_way(p, g);
    if (warm != nullptr && g->own_stack_bytes() == 0) {
      g->stack = warm;
      g->needs.store_relaxed(0);
    } else if (!bind_cached_stack(m, g)) {
      return leave_to_slow_way(p, g);
    }
  }
  g->status.transition(parts::status::runnable, parts::status::running);
  count(p->figures.switches);
  return {g, false};
}

pick find_runnable(machine* m) noexcept {
  for (;;) {  // each round: the places to look at, in order
    if (m->border.attention() != 0) see_to_requests(m);
    bool ran_timers = false;
    if (!sched.gate.is_halted()) {
      processor* p = m->p;
      if (run_due_timers(p)) admit_global(p);
      if (goroutine* g = take_next(p)) return {g, true};
      if (wants_global_first(p)) {
        if (goroutine* g = sched.queue.pop()) return {g, false};
      }
      if (goroutine* g = p->queue.pop()) return {g, false};
      if (goroutine* g = take_global(p)) return {g, false};
      if (goroutine* g = poll_now(m)) return {g, false};
      if (goroutine* g = search(m, ran_timers)) return {g, false};
    }
    if (ran_timers || settle(give_up_p(m), m)) continue;
    if (!sleep_until_needed(m)) return {nullptr, false};
    begin_slice(m->p);  // the slice of the processor's last holder does not count for this one
  }
}

}  // namespace sley::rt
