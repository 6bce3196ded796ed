// The state that all processors and machines share. One instance, which is never destroyed: threads
// use it until the process is gone.
#pragma once

#include <sley/detail/atomic.hpp>
#include <sley/detail/lock.hpp>

#include "base/published.hpp"
#include "base/visit_order.hpp"
#include "parts/role.hpp"
#include "parts/global_queue.hpp"
#include "parts/pending_bits.hpp"
#include "parts/registry.hpp"
#include "parts/stack_pool.hpp"
#include "parts/thread_requests.hpp"
#include "parts/wake_gate.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/poll_set.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/spare_records.hpp"

#include <unwind.h>

#include <cstddef>
#include <cstdint>

namespace sley::rt {

inline constexpr std::uint32_t max_processors = 256;

// The machine that sleeps until an event or the next timer, if any; see source/poll.cpp.
//   PL-1  The poller publishes how long it sleeps and then looks at all timers again; a thread that
//         arms a timer publishes it and then looks how long the poller sleeps:
//         store_relaxed(until_ns) + heavy barrier in publish_sleep <-> light barrier + load_relaxed
//         in timer_armed.
struct trace_memory;

struct poller_state {
  parts::role role;
  detail::atomic<std::int64_t> until_ns{0};  // [atomic PL-1] 0: no poller
  detail::atomic<std::uint32_t> finds;       // relaxed: looks without waiting that found events
  // How many sleeps in the kernel, one after the other, events have ended that no goroutine waited
  // for. Only the holder of the role uses it. Counted up to a most.
  std::uint32_t in_vain = 0;
  // The poller, while it sleeps among the idle machines instead of in the kernel. Changed under
  // sched.lock; read as a figure.
  detail::atomic<machine*> dozing;
};

// Threads that the runtime makes; see watchdog/threads.cpp.
struct thread_state {
  parts::thread_requests requests;
  parts::note template_note;  // wakes the template thread, any number of times
  // 0: it has not begun. The other threads may run wherever it may, because it is never moved.
  detail::atomic<std::int32_t> template_id;
  detail::atomic<std::uint32_t> limit{10'000};  // relaxed: a fuse
  detail::atomic<std::uint32_t> machines;       // relaxed: a figure; the threads of machines
  detail::atomic<std::uint32_t> lasting;        // relaxed: a figure; 1 once it was used
};

// The main goroutine and the thread in run().
//   MR-1  The thread waits (`waits`) neither before the main goroutine has been started nor after
//         it has returned; whichever comes second sees the first: cas_acq_rel in run_main <->
//         exchange_acq_rel in finish.
enum class run_phase : std::uint32_t { begins, waits, ends };
struct main_state {
  parts::role in_run;               // by the thread in run()
  detail::atomic<run_phase> phase;  // [atomic MR-1]
  std::size_t stack_bytes = 0;      // [const] once booted
  // Wakes the thread in run(): when the main goroutine has returned, and for an exception that is
  // about to leave it, see main_exception.cpp. The notes hand over the fields behind them.
  parts::note done;
  _Unwind_Exception* leaving = nullptr;
  parts::note answer;            // wakes the main goroutine's thread then
  bool is_caught = false;        // by a caller of run()
  std::uintptr_t run_frame = 0;  // the stack pointers of the callers' frames are above it
};

// What other threads tell sysmon; what it knows itself is in watchdog/watchdog.hpp.
struct sysmon_state {
  // sysmon may rest for this long after a timer has brought work.
  static constexpr std::int64_t late_look_ns = 1'000'000;

  parts::note note;                 // wakes sysmon, any number of times
  bool rests = false;               // [lock: sched.lock] until a processor is taken into use
  std::int64_t rests_until_ns = 0;  // [lock: sched.lock] when sysmon looks without being woken
  // How long sysmon sleeps at the moment. A thread that needs an earlier look wakes it.
  detail::atomic<std::int64_t> delay_ns;
  // Not empty: threads may run goroutines without a processor, and sysmon does not know of them.
  // Bits are added where that happens, and taken before sysmon looks.
  parts::pending_bits new_detached;
  // True: only threads that the runtime did not make can still prevent a deadlock. sysmon looks
  // again when one of them waits or ends. See DL-1 in deadlock.cpp.
  detail::atomic<bool> awaits_foreigners;  // [atomic DL-1]
};

// The words that one kind of operation writes have cache lines of their own, and so have the words
// that processors hardly do more than read.
struct sched_state {
  static constexpr std::size_t line = 64;

  alignas(line) parts::wake_gate gate;
  alignas(line) parts::global_queue<goroutine, &goroutine::next, &waits_on_its_thread> queue;
  alignas(line) parts::stack_pool stacks;

  alignas(line) base::visit_order order;  // [stw] how thieves walk over the processors
  processor* processors = nullptr;        // [const] once booted: an array of max_processors
  // The number of processors, and the most there ever were: a processor behind the first number
  // exists, but no machine holds it. Both change only while the world is stopped, so a machine with
  // a processor sees no change.
  base::published<std::uint32_t> procs;
  base::published<std::uint32_t> made_procs;
  std::int64_t booted_ns = 0;              // [const] once booted
  detail::atomic<std::uint32_t> coarse_s;  // seconds since boot: note_time() sets them
  // [const] once booted: what runs at the bottom of every goroutine's stack (run/exit.cpp). A
  // pointer, because the rooms that bind stacks are below the one that runs goroutines.
  void (*goroutine_main)() = nullptr;
  detail::atomic<bool> is_snapshot_taken;  // relaxed: a hint for a dump, which can't wait long
  const trace_memory* trace = nullptr;     // [stw] null: no trace is on
  // The same, for threads that are about to note something: a hint.
  detail::atomic<bool> is_traced;
  bool batches_calls = false;                     // [const] once booted: queue/batch.hpp
  base::published<std::uint32_t> watched_count;   // descriptors in use; changed by run/netpoll.cpp
  detail::atomic<std::uint32_t> stackless_count;  // size of `stackless`, read without the lock

  alignas(line) detail::lock lock{detail::lock_rank::scheduler};
  processor* idle_processors = nullptr;              // [lock: lock] last in, first out
  machine* idle_machines = nullptr;                  // [lock: lock] last in, first out
  detail::atomic<std::uint32_t> idle_machine_count;  // changed under lock; read as a figure, TH-1
  spare_records dead;                                // [lock: lock] records that no processor keeps
  goroutine_list stackless;  // [lock: lock] runnable, but there is no memory for a stack

  parts::registry<machine, &machine::next_all> machines;

  alignas(line) detail::atomic<std::uint64_t> next_goroutine_id{2};  // 1 is the main goroutine's
  detail::atomic<std::uint64_t> spawned;  // by foreign threads; processors count their own
  detail::atomic<std::uint64_t> thread_wakes;
  detail::atomic<std::uint64_t> hand_offs;
  detail::atomic<std::uint64_t> retakes;
  detail::atomic<std::uint64_t> thread_blocks;    // those from threads that slept unannounced
  detail::atomic<std::uint64_t> thread_block_ns;  // from then until their goroutines came back
  detail::atomic<std::uint64_t> preemptions;  // by signal or at the border; processors count others
  detail::atomic<std::uint64_t> overrun_ns;   // of slices whose goroutine was stopped
  detail::atomic<std::uint64_t> lock_wait_ns;  // of threads; processors count goroutines' waits
  detail::atomic<bool> has_forked;             // this is the child of a fork

  alignas(line) poller_state poller;
  thread_state threads;
  main_state main;
  sysmon_state sysmon;

  poll_set poll_sets[platform::most_poll_sets];   // of descriptors, see poll_sets.hpp
  base::published<std::uint32_t> poll_set_count;  // the number of open ones; never shrinks
  detail::atomic<std::uint64_t> foreign_parks;
};

extern sched_state sched;

// sysmon, the template thread and the lasting one: the machines' threads come on top.
inline std::uint32_t own_threads() noexcept { return 2 + sched.threads.lasting.load_relaxed(); }

// Sets the clock that goroutines read as they begin to wait. sysmon does so at each look, and a
// thread that takes a processor into use while sysmon rests.
inline void note_time(std::int64_t now_ns) noexcept {
  constexpr std::int64_t second_ns = 1'000'000'000;
  const auto now_s = static_cast<std::uint32_t>((now_ns - sched.booted_ns) / second_ns);
  // The word is in a line that all processors read.
  if (sched.coarse_s.load_relaxed() != now_s) sched.coarse_s.store_relaxed(now_s);
}

// sysmon looks at once. Any thread, also in a signal handler.
inline void wake_sysmon() noexcept { sched.sysmon.note.wake(); }

}  // namespace sley::rt
