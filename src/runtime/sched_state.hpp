// What all processors and machines share. One instance, which is never destroyed: threads use it
// until the process is gone.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/visit_order.hpp"
#include "parts/global_queue.hpp"
#include "parts/stack_pool.hpp"
#include "parts/wake_gate.hpp"
#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"
#include "runtime/processor.hpp"

#include <cstdint>

namespace sley::rt {

inline constexpr std::uint32_t max_processors = 256;

struct sched_state {
  parts::wake_gate gate;
  parts::global_queue<goroutine, &goroutine::next> queue;
  parts::stack_pool stacks;
  base::visit_order order;          // [const] once booted: how thieves walk over the processors
  std::uint32_t procs = 0;          // [const] once booted
  processor* processors = nullptr;  // [const] once booted: an array of `procs`

  detail::lock lock;
  processor* idle_processors = nullptr;  // [lock: lock] last in, first out
  machine* idle_machines = nullptr;      // [lock: lock] last in, first out
  std::uint32_t idle_machine_count = 0;  // [lock: lock]
  goroutine_list dead;                   // [lock: lock] records that no processor keeps
  goroutine_list stackless;  // [lock: lock] runnable, but there is no memory for a stack

  //   SC-1  A machine's record is complete before others find it on the list: store_release in
  //         new_machine <-> load_acquire in pause.
  detail::atomic<machine*> machines;  // all that were ever made, newest first   [atomic SC-1]
  detail::atomic<std::uint32_t> machine_count;         // made by the runtime; only grows
  detail::atomic<std::uint32_t> stackless_count;       // size of `stackless`, read without the lock
  detail::atomic<std::uint64_t> next_goroutine_id{2};  // 1 is the main goroutine's
  detail::atomic<std::uint64_t> spawned;  // by foreign threads; processors count their own
  detail::atomic<std::uint64_t> thread_wakes;

  // The machine that sleeps until the next timer is due, if any.
  //   PL-1  The poller says how long it sleeps and then looks at all timers again; who arms a timer
  //         publishes it and then looks how long the poller sleeps: store_relaxed(poll_until_ns) +
  //         heavy barrier in poll <-> light barrier + load_relaxed in timer_armed.
  //   PL-2  One poller at a time, and each after the one before: cas_acq_rel to true in
  //         claim_poller <-> cas_acq_rel to false in sleep_as_poller.
  detail::atomic<bool> has_poller;                // [atomic PL-2]
  detail::atomic<std::int64_t> poll_until_ns{0};  // [atomic PL-1] 0: nobody polls
  parts::note poll_note;                          // wakes the poller early
};

extern sched_state sched;

}  // namespace sley::rt
