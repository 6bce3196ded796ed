// The fast path of find_runnable: what runs next on this processor, if that takes a few
// instructions. It is inlined into the functions that switch: they save all registers anyway, and a
// function of its own would save them once more.
#pragma once

#include "parts/stack_pool.hpp"
#include "platform/cpu.hpp"
#include "platform/decisions.hpp"
#include "platform/probes.hpp"
#include "runtime/queue/batch.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

#include <cstdint>

namespace sley::rt {

// A processor with timers reads the clock at most this often, by the CPU's counter.
inline constexpr std::uint64_t clock_interval_ns = 4'000;
// A slice that goroutines inherit is checked for its end after this many of them.
inline constexpr std::uint32_t slice_check_interval = 64;

// If the goroutine is null, the local queues are empty (`is_idle`) or something needs attention;
// the caller must take the slow path.
struct local_pick {
  goroutine* g;
  bool is_idle;
};

// ---- the rare cases, in find_runnable.cpp [inside] ----

// The processor's own queue has at most this many goroutines after admit_share().
inline constexpr std::size_t most_admitted = 128;
// For a goroutine that yields: moves the processor's share of the global queue, which is not empty,
// into its own queue. False if the share does not fit, if turns are not short, or if none of the
// share may be moved.
bool admit_share(processor* p) noexcept;

// Asked when `inherited` is a multiple of slice_check_interval.
bool is_shared_slice_over(processor* p) noexcept;
// Its slice is over: to the end of the global queue. Returns null.
goroutine* send_behind_others(processor* p, goroutine* g) noexcept;
// The goroutine cannot be switched to directly: puts it back.
local_pick leave_to_slow_way(processor* p, goroutine* g) noexcept;

// ---- [inside] ----

// Due timers are left to the slow path, because firing one takes locks.
[[gnu::always_inline]] inline bool are_timers_due(processor* p) noexcept {
  const std::int64_t first = p->timers.first_ns.load_relaxed();
  if (first == never) return false;
  const std::uint64_t cycles = platform::cycle_counter();
  if (cycles - p->clock_read_cycles < platform::counter_ticks(clock_interval_ns)) return false;
  p->clock_read_cycles = cycles;
  return first <= platform::now_ns();
}

// Takes the next slot: the goroutine that was just made runnable, in the slice of its waker. When
// that slice is over, the goroutine goes to the end of the global queue.
[[gnu::always_inline]] inline goroutine* take_next(processor* p) noexcept {
  goroutine* g = p->next.take();
  if (g == nullptr) return nullptr;
  const bool is_over = ++p->inherited % slice_check_interval == 0 && is_shared_slice_over(p);
  return platform::ends_slice(is_over) ? send_behind_others(p, g) : g;
}

// Goroutines of the global queue and of the batch have a turn now and then before goroutines of the
// processor's own queue.
inline bool wants_others_first(const processor* p) noexcept {
  return p->tick.load_relaxed() % fairness_tick == 0 && (!sched.queue.is_empty() || has_batch(p));
}

// From the processor's own queue. Where there is one processor, there is no thief, and none comes
// before the world has been stopped.
[[gnu::always_inline]] inline goroutine* pop_own(processor* p) noexcept {
  return sched.procs.read_relaxed() == 1 ? p->queue.pop_unshared() : p->queue.pop();
}

// A goroutine that has not begun gets `warm`, if it is given and of the right size, instead of a
// stack from the pool. `how`: in what way the goroutine that runs leaves.
[[gnu::always_inline]] inline local_pick next_local(machine* m, departure how,
                                                    parts::stack* warm = nullptr) noexcept {
  processor* p = m->p;
  if (m->border.attention() != 0 || are_timers_due(p)) return {nullptr, false};
  goroutine* g = take_next(p);
  if (g == nullptr) {
    if (wants_others_first(p)) return {nullptr, false};
    g = pop_own(p);
    if (g == nullptr) return {nullptr, true};
    if (is_batch_due(p)) return leave_to_slow_way(p, g);
    begin_slice(p);
  }
  if (const std::uint8_t needs = g->needs.load_acquire("TR-1"); needs != 0) {
    if (needs == timed) {
      end_measured_wait(p, g);
    } else if (needs != needs_stack) {
      return leave_to_slow_way(p, g);
    } else if (warm != nullptr && g->own_stack_bytes() == 0) {
      g->stack = warm;
      g->needs.store_relaxed(0);
    } else if (!bind_cached_stack(m, g)) {
      return leave_to_slow_way(p, g);
    }
  }
  g->status.transition(parts::status::runnable, parts::status::running);
  platform::probe_run(g->id);
  count_switch(p, m, g, how);
  return {g, false};
}

}  // namespace sley::rt
