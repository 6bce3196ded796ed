// Decides which goroutine runs next. From Go's findRunnable.
#include "runtime/source/find_runnable.hpp"

#include "platform/cpu.hpp"
#include "platform/decisions.hpp"
#include "runtime/queue/batch.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/source/next_local.hpp"
#include "runtime/source/poll.hpp"
#include "runtime/source/prefetch.hpp"
#include "runtime/source/steal.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace sley::rt {

namespace {

// Where goroutines that yield had longer turns, each passes through the global queue.
constexpr std::uint64_t short_turn_ns = 10'000;
// At most this many goroutines are taken from the global queue at once.
constexpr std::size_t most_at_once = queue_capacity / 2;

// Goroutines from the global queue go into the local queue, which has room for them.
void queue_batch(processor* p, std::span<goroutine* const> batch, bool are_cold) noexcept {
  if (are_cold) prefetch(batch);
  auto next = batch.begin();
  p->queue.push_all([&] { return next == batch.end() ? nullptr : *next++; });
}

// Returns the first goroutine of a batch and puts the others into the local queue, which is empty.
goroutine* take_global(processor* p) noexcept {
  if (sched.queue.is_empty()) return nullptr;
  const bool are_cold = sched.queue.size() >= many_waiting;
  goroutine* batch[most_at_once];
  const std::size_t n = sched.queue.take_share(sched.procs.read(), batch);
  if (n == 0) return nullptr;
  queue_batch(p, {batch + 1, n - 1}, are_cold);
  return batch[0];
}

// Moves a share of the global queue, `most` goroutines at most, into the local queue, which has
// room for them. Exception: a goroutine whose own thread waits for its turn stays in the global
// queue, because machines look for such goroutines only there. Running it at once would give it a
// whole slice ahead of all local goroutines. The goroutines behind it are admitted, because it may
// stay for fairness_tick turns. Returns how many were moved.
std::size_t admit_global(processor* p, std::size_t most) noexcept {
  const bool are_cold = sched.queue.size() >= many_waiting;
  goroutine* batch[most_at_once];
  const std::size_t n = sched.queue.take_share_without_loners(
      sched.procs.read(), std::span(batch).first(most), queue_capacity);
  queue_batch(p, {batch, n}, are_cold);
  return n;
}

// Since it was last asked of this processor, on average.
bool were_turns_short(processor* p) noexcept {
  const std::uint64_t now = platform::cycle_counter();
  const std::uint32_t tick = p->tick.load_relaxed();
  const std::uint64_t cycles = now - std::exchange(p->turns_from_cycles, now);
  const std::uint32_t turns = tick - std::exchange(p->turns_from_tick, tick);
  return cycles < turns * platform::counter_ticks(short_turn_ns);
}

// Looks at the queues of other processors, unless enough machines search already.
goroutine* search(machine* m, bool& ran_timers) noexcept {
  if (!m->is_searching) {
    if (!sched.gate.start_searching()) return nullptr;
    m->is_searching = true;
  }
  return steal_work(m, ran_timers);
}

// Goroutines that timers wake take the next slot. One that the fast path has picked and put there
// comes before them: sent to the end of the queue each time, it would never begin. Timer wake-ups
// fill the local queue. So that a steady stream of them cannot starve the global queue, they leave
// half of the room to it.
void see_to_timers(processor* p) noexcept {
  if (std::exchange(p->has_picked, false) || !run_due_timers(p) || sched.queue.is_empty()) return;
  const std::size_t room = p->queue.room();
  if (room != 0) admit_global(p, std::min(most_fired_at_once, room));
}

// Makes the calls that goroutines of this processor wait for. Returns one of these goroutines to
// run next if no other waits for its turn here; else null.
goroutine* see_to_batch(processor* p) noexcept {
  if (!has_local_work(p)) return ready_all_to_run_first(make_batch(p));
  ready_all(make_batch(p));
  return nullptr;
}

// Lowers the flags of requests that this round of find_runnable attends to.
void see_to_requests(machine* m) noexcept {
  using parts::border;
  const std::uint32_t lowered =
      m->border.lower(border::stop | border::preempt | border::give | border::moves);
  if ((lowered & border::moves) != 0) move_as_asked(m);
}

}  // namespace

[[gnu::noinline]] bool admit_share(processor* p) noexcept {
  const std::size_t queued = p->queue.size();
  if (queued >= most_admitted) return false;
  const std::size_t most = most_admitted - queued;
  const bool fits = sched.queue.size() < most * sched.procs.read();
  return fits && were_turns_short(p) && admit_global(p, most) != 0;
}

// Goroutines that make each other runnable share one time slice.
[[gnu::noinline]] bool is_shared_slice_over(processor* p) noexcept {
  const std::int64_t now = platform::now_ns();
  if (p->inherited == slice_check_interval) p->slice_end_ns = now + debug_options().slice_ns;
  return now >= p->slice_end_ns;
}

[[gnu::noinline]] goroutine* send_behind_others(processor* p, goroutine* g) noexcept {
  count(p->figures.preemptions);
  run_last(g);
  return nullptr;
}

[[gnu::noinline]] local_pick leave_to_slow_way(processor* p, goroutine* g) noexcept {
  goroutine* displaced = p->next.put(g);
  SLEY_CHECK(displaced == nullptr, "the next slot is empty when the queue is looked at");
  p->has_picked = true;
  return {nullptr, false};
}

pick find_runnable(machine* m) noexcept {
  for (;;) {  // each round: the places to look at, in order
    if (m->border.attention() != 0) see_to_requests(m);
    bool ran_timers = false;
    if (!sched.gate.is_halted()) {
      processor* p = m->p;
      see_to_timers(p);
      if (has_batch(p)) {
        if (goroutine* g = see_to_batch(p)) return {g, false};
      }
      if (goroutine* g = take_next(p)) return {g, true};
      if (wants_others_first(p)) {
        if (goroutine* g = sched.queue.pop(sched.procs.read())) return {g, false};
      }
      if (goroutine* g = pop_own(p)) return {g, false};
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
