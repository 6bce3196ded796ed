// Waiting for the next timer when there is nothing to run: one machine, the poller, sleeps until
// the earliest of all processors' timers; the others sleep until they are woken. From the end of
// Go's findRunnable.
#include "platform/os.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <algorithm>

namespace sley::rt {

std::int64_t earliest_timer() noexcept {
  std::int64_t earliest = never;
  const std::uint32_t procs = sched.procs.load_acquire("PC-1");
  for (std::uint32_t i = 0; i < procs; ++i) {
    earliest = std::min(earliest, sched.processors[i].timers.first_ns.load_relaxed());
  }
  return earliest;
}

namespace {

bool claim_poller() noexcept {
  bool expected = false;
  return !sched.has_poller.load_relaxed() && sched.has_poller.cas_acq_rel(expected, true, "PL-2");
}

void sleep_as_poller(std::int64_t until_ns) noexcept {
  sched.poll_note.clear();
  sched.poll_until_ns.store_relaxed(until_ns);
  detail::heavy_barrier("PL-1");
  // PL-1: who armed an earlier timer before this either saw us and wakes us, or is seen here.
  sched.poll_note.sleep(std::min(until_ns, earliest_timer()));
  sched.poll_until_ns.store_relaxed(0);
  bool expected = true;
  sched.has_poller.cas_acq_rel(expected, false, "PL-2");
}

}  // namespace

bool wait_for_timers(machine* m) noexcept {
  if (sched.gate.is_halted()) return false;
  const std::int64_t until = earliest_timer();
  if (until == never) return false;
  if (!claim_poller()) {
    timer_armed(until);  // the one that polls may not know of ours
    return false;
  }
  sleep_as_poller(until);
  return !sched.gate.is_halted() && take_up_search(m);
}

void timer_armed(std::int64_t when_ns) noexcept {
  detail::light_barrier("PL-1");
  const std::int64_t until = sched.poll_until_ns.load_relaxed();  // PL-1: the barriers order it
  if (until == 0) {
    wake_if_needed();
  } else if (when_ns < until) {
    sched.poll_note.wake();
  }
}

}  // namespace sley::rt
