// Ends the process when nothing can ever run again: every thread is known to wait for another one,
// and no event can come. From Go's checkdead.
//
// sysmon looks when all processors are idle and no timer is armed. It accounts for all threads that
// the kernel counts: the runtime's own, idle machines, and threads that wait in sley for their
// goroutine or as foreign threads. A thread that it can't account for (a goroutine in a blocking
// call, a thread of the user's) may wake another, and so may a request to sysmon meanwhile. Because
// sysmon looks at one thread after the other, it looks twice, and nothing may have happened in
// between.
//
//   DL-1  The last foreign thread waits or ends, and sysmon, which found it busy, rests: the thread
//         publishes that it waits, a light barrier, and load_relaxed(awaits_foreigners) <->
//         store_relaxed to true, a heavy barrier, and the count.
//   DL-2  A thread wakes another one, clears that one's mark, and then waits itself. sysmon, which
//         counts the waker, does not count the other thread at its second look: store_release(true)
//         in park_thread, and in wait_for_ever <-> load_acquire in take_account.
#include "runtime/watchdog/deadlock.hpp"

#include "base/check.hpp"
#include "platform/os.hpp"
#include "runtime/inspect/dump.hpp"
#include "runtime/inspect/last_words.hpp"
#include "runtime/source/descriptor.hpp"
#include "runtime/state/figures.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"
#include "runtime/watchdog/world.hpp"

namespace sley::rt {

namespace {

struct account {
  std::uint32_t waiting_threads = 0;
  std::uint64_t events = 0;  // grows with everything that happens
};

// A timer of any time counts: a goroutine may sleep for ever.
bool is_any_timer_armed() noexcept {
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    if (sched.processors[i].timers.heap.size() != 0) return true;
  }
  return false;
}

}  // namespace

bool is_event_to_come() noexcept { return is_any_timer_armed() || is_any_in_io(); }

namespace {

bool is_anything_to_come() noexcept {
  return !are_all_idle() || sched.stackless_count.load_relaxed() != 0 || sched.gate.is_halted() ||
         sched.threads.requests.is_any_coming() || is_anything_queued() || is_event_to_come() ||
         is_world_request_pending() || is_dump_requested();
}

account take_account() noexcept {
  account a;
  a.waiting_threads = own_threads() + sched.idle_machine_count.load_relaxed();
  const bool is_dozing = sched.poller.dozing.load_relaxed() != nullptr;  // then it is idle as well
  if (sched.poller.role.is_taken() && !is_dozing) ++a.waiting_threads;
  if (sched.main.phase.load_relaxed() == run_phase::waits) ++a.waiting_threads;
  for (machine* m : sched.machines) {
    if (m->waits.load_acquire("DL-2")) ++a.waiting_threads;
  }
  a.events = sum(&counters::switches) + spawned_goroutines() + sched.hand_offs.load_relaxed() +
             sched.thread_wakes.load_relaxed() + sched.retakes.load_relaxed() +
             sched.foreign_parks.load_relaxed();
  return a;
}

}  // namespace

void look_for_deadlock() noexcept {
  if (is_anything_to_come()) return;
  sched.sysmon.awaits_foreigners.store_relaxed(true);
  detail::heavy_barrier("DL-1");
  const account first = take_account();
  if (first.waiting_threads < own_threads() + 1) return;
  const std::uint32_t threads = platform::count_threads(
      first.waiting_threads, []() noexcept { return !is_anything_to_come(); });
  const account second = take_account();
  if (threads != second.waiting_threads || first.waiting_threads != second.waiting_threads ||
      first.events != second.events || is_anything_to_come()) {
    return;
  }
  take_over_last_words();  // a goroutine that has begun them is asleep like the others
  if (living_goroutines() == 0) {
    // Foreign threads that wait for each other.
    if (!sched.main.in_run.is_taken()) base::fatal("all threads are asleep in sley - deadlock!");
    base::fatal("no goroutines (main called runtime.Goexit) - deadlock!");
  }
  base::fatal("all goroutines are asleep - deadlock!");
}

}  // namespace sley::rt
