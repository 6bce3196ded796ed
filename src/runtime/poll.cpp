// Waiting for events and for the next timer when there is nothing to run: one machine, the poller,
// sleeps until a descriptor is ready or the earliest of all processors' timers is due; the others
// sleep until they are woken. From the end of Go's findRunnable.
//
// Events are looked for, without waiting, also by who runs out of work of its own, and by sysmon
// when nobody has for 10 ms.
#include "platform/decisions.hpp"
#include "platform/poller.hpp"
#include "runtime/netpoll.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <algorithm>
#include <utility>

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

constexpr std::int64_t longest_unpolled_ns = 10'000'000;

bool claim_poller() noexcept {
  bool expected = false;
  return !sched.has_poller.load_relaxed() && sched.has_poller.cas_acq_rel(expected, true, "PL-2");
}

void give_up_poller() noexcept {
  bool expected = true;
  sched.has_poller.cas_acq_rel(expected, false, "PL-2");
}

goroutine_list poll_until(std::int64_t deadline_ns) noexcept {
  sched.polls.store_relaxed(sched.polls.load_relaxed() + 1);  // a lost one does no harm
  return poll(deadline_ns);
}

// Who has become runnable meanwhile.
goroutine_list sleep_as_poller(std::int64_t until_ns) noexcept {
  sched.poll_until_ns.store_relaxed(until_ns);
  detail::heavy_barrier("PL-1");
  // PL-1: who armed an earlier timer before this either saw us and wakes us, or is seen here.
  goroutine_list woken = poll_until(std::min(until_ns, earliest_timer()));
  sched.poll_until_ns.store_relaxed(0);
  give_up_poller();
  return woken;
}

}  // namespace

// Also while the poller sleeps: who is here already is faster than who has to wake first. But one
// at a time, for others would only wait for the kernel's lock.
bool poll_now() noexcept {
  if (!is_anything_watched() || sched.is_polling_now.load_relaxed()) return false;
  if (sched.is_polling_now.exchange_acquire(true, "PL-3")) return false;
  goroutine_list woken = poll_until(0);
  sched.is_polling_now.store_release(false, "PL-3");
  const bool has_found = !woken.is_empty();
  if (has_found) ready_all(std::move(woken));
  return has_found;
}

void poll_if_late(std::int64_t now_ns) noexcept {
  static std::uint32_t seen = 0;       // [sysmon]
  static std::int64_t seen_at_ns = 0;  // [sysmon]
  const std::uint32_t polls = sched.polls.load_relaxed();
  if (polls == seen && now_ns - seen_at_ns < longest_unpolled_ns) return;
  if (polls == seen) poll_now();
  seen = sched.polls.load_relaxed();
  seen_at_ns = now_ns;
}

bool is_poller_missing() noexcept {
  // WG-1: a machine that gives the role up, or has found nothing watched, goes idle afterwards.
  return is_anything_watched() && !sched.has_poller.load_relaxed();
}

void see_to_polling() noexcept {
  detail::light_barrier("WG-1");
  if (is_poller_missing()) wake_if_needed();
}

bool wait_for_events(machine* m) noexcept {
  if (sched.gate.is_halted()) return false;
  const std::int64_t until = earliest_timer();
  if (until == never && !is_anything_watched()) return false;
  if (!claim_poller()) {
    if (until != never) timer_armed(until);  // the one that polls may not know of ours
    return false;
  }
  goroutine_list woken = sleep_as_poller(until);
  const bool has_p = !sched.gate.is_halted() && take_up_search(m);
  if (!woken.is_empty()) ready_all(std::move(woken));
  return has_p;
}

void timer_armed(std::int64_t when_ns) noexcept {
  detail::light_barrier("PL-1");
  const std::int64_t until = sched.poll_until_ns.load_relaxed();  // PL-1: the barriers order it
  if (until == 0) {
    wake_if_needed();
  } else if (when_ns < until) {
    platform::break_wait();
  }
}

}  // namespace sley::rt
