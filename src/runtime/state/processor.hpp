// P: the permit to run goroutines, with the queues and caches of its holder.
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/published.hpp"
#include "base/random.hpp"
#include "parts/next_slot.hpp"
#include "parts/reader_slots.hpp"
#include "parts/run_queue.hpp"
#include "parts/stack_pool.hpp"
#include "platform/call_batch.hpp"
#include "platform/cpu.hpp"
#include "runtime/state/departure.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/poll_set.hpp"
#include "runtime/state/sched_meter.hpp"
#include "runtime/state/timer.hpp"

#include <cstdint>

namespace sley::rt {

inline constexpr std::uint32_t queue_capacity = 256;
inline constexpr std::uint32_t fairness_tick = 61;
inline constexpr std::size_t dead_cache = 64;   // dead records that a processor keeps
inline constexpr std::size_t stack_cache = 32;  // free stacks that a processor keeps
inline constexpr std::size_t reader_marks = 8;  // one cache line
inline constexpr std::uint64_t id_batch = 16;   // goroutine ids that a processor draws at once

// Figures that only the holder of the processor writes. read_stats adds them up.
struct counters {
  detail::atomic<std::uint64_t> spawned;
  detail::atomic<std::uint64_t> finished;
  detail::atomic<std::uint64_t> switches;
  detail::atomic<std::uint64_t> steals;
  detail::atomic<std::uint64_t> parks;
  detail::atomic<std::uint64_t> preemptions;
  detail::atomic<std::uint64_t> lock_wait_ns;  // goroutines' waits for locks that have ended
};

// Returns the new value. No read-modify-write is needed, because the holder is the only writer.
inline std::uint64_t count(detail::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
  const std::uint64_t value = counter.load_relaxed() + n;
  counter.store_relaxed(value);
  return value;
}

struct machine;
struct run_trace;

struct alignas(platform::cache_line_bytes) processor {
  std::uint32_t id = 0;  // [const]
  // The number of time slices begun. Written by the holder, read by sysmon.
  detail::atomic<std::uint32_t> tick;
  std::uint32_t inherited = 0;  // [owner] goroutines that have shared this slice
  // The holder; null while idle or handed on. Written by the thread that has the processor in hand.
  // For other readers (sysmon, figures) it may be outdated, so they close the machine's border and
  // look again.
  base::published<machine*> m;
  // A goroutine that came back from an announced call took it since sysmon's last look: a hint.
  detail::atomic<bool> has_seen_return;
  processor* next_idle = nullptr;  // [lock: sched.lock] link in the list of idle processors

  parts::next_slot<goroutine> next;                   // runs before the queue
  parts::run_queue<goroutine, queue_capacity> queue;  // see run_queue.hpp

  // The CPU of its holder at the last poll: a hint; -1 if not known.
  detail::atomic<std::int32_t> cpu{-1};
  set_rounds rounds;  // [owner] polls of other processors' watch sets

  base::random random;            // [owner]
  std::int64_t slice_end_ns = 0;  // [owner] set when `inherited` first makes it look
  // Calls that goroutines wait for; see queue/batch.hpp. `batched` is their number, which the owner
  // alone writes.
  detail::atomic<std::uint32_t> batched;
  platform::call_batch* batch = nullptr;  // [const] null: the program wants none, or has none
  std::uint64_t batch_from_cycles = 0;    // [owner] when the first of them joined
  // [owner] When the last call was made or joined, and the mean time between calls.
  std::uint64_t call_cycles = 0;
  std::uint64_t mean_call_cycles = 0;
  std::uint64_t clock_read_cycles = 0;  // [owner] when the clock was last read for timers
  std::uint64_t turns_from_cycles = 0;  // [owner] when the length of turns was last asked for, and
  std::uint32_t turns_from_tick = 0;    // [owner] the tick then
  std::int64_t fired_at_ns = 0;         // [owner] when its holder last fired timers of any heap
  std::uint64_t next_id = 0;            // [owner] ids not given out yet, below last_id
  std::uint64_t last_id = 0;            // [owner]
  goroutine_list dead;                  // [owner] records to use again
  parts::stack* stacks = nullptr;       // [owner] free stacks, warmest first
  std::size_t stack_count = 0;          // [owner]
  bool has_picked = false;              // [owner] the next slot has a goroutine whose turn has come

  run_trace* trace = nullptr;  // [stw] where events are noted; null: no trace is on

  timer_set timers;
  parts::reader_slots<reader_marks> readers;  // of shared_mutexes
  counters figures;
  sched_meter meter;
};

// Is a goroutine queued here? Any thread; the answer may be outdated at once.
inline bool has_local_work(const processor* p) noexcept {
  return !p->next.is_empty() || !p->queue.is_empty();
}

// Does a goroutine wait for a call that its processor's machine must make? Any thread, likewise.
inline bool has_batch(const processor* p) noexcept { return p->batched.load_relaxed() != 0; }

// Would another goroutine run on this processor, whatever other processors have? Likewise.
inline bool has_own_work(const processor* p) noexcept { return has_local_work(p) || has_batch(p); }

// By the holder: the goroutine gets the processor. The one that runs on `m` loses it by that, and
// was not told to count_leave(); null: none does.
[[gnu::always_inline]] inline void count_switch(processor* p, const machine* m, goroutine* next,
                                                departure how) noexcept {
  const std::uint64_t number = count(p->figures.switches);
  if (__builtin_expect(number >= p->meter.next_look, 0)) look_at_switch(p, m, next, how);
}

// By the holder: the goroutine leaves the processor, and no other gets it by the same switch.
inline void count_leave(processor* p, goroutine* leaving, departure how) noexcept {
  const std::uint64_t next = p->figures.switches.load_relaxed() + 1;
  if (__builtin_expect(next >= p->meter.next_look, 0)) look_at_leave(p, leaving, how);
}

// By the holder: the goroutine that runs next gets a whole time slice.
inline void begin_slice(processor* p) noexcept {
  p->tick.store_relaxed(p->tick.load_relaxed() + 1);
  p->inherited = 0;
}

}  // namespace sley::rt
