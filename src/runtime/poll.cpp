// Waiting for events and for the next timer when there is nothing to run: one machine, the poller,
// sleeps until a descriptor is ready or the earliest of all processors' timers is due; the others
// sleep until they are woken. From the end of Go's findRunnable.
//
// Events are looked for, without waiting, also by who runs out of work of its own, and by sysmon
// when nobody has for 10 ms. Who looks and finds is faster than a poller that has to wake first,
// which the kernel would wake for each of these events in vain. So as long as others find events by
// looking, the poller dozes: it sleeps among the idle machines, where work for it may wake it, for
// 50 us and then for longer and longer, but never for more than 0.8 ms or beyond a timer. When
// nobody has found any meanwhile, or all the others have gone idle, it sleeps in the kernel again.
#include "platform/decisions.hpp"
#include "platform/poller.hpp"
#include "runtime/idle.hpp"
#include "runtime/netpoll.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

std::int64_t earliest_timer() noexcept {
  std::int64_t earliest = never;
  const std::uint32_t procs = sched.procs.read();
  for (std::uint32_t i = 0; i < procs; ++i) {
    earliest = std::min(earliest, sched.processors[i].timers.first_ns.load_relaxed());
  }
  return earliest;
}

namespace {

// Who has nothing to run while others do, and events come thick and fast, looks for them so many
// times more before it gives its processor up: 10 us in all, what sleeping and being woken costs.
constexpr int further_looks = 16;
constexpr int pauses_between_looks = 20;
constexpr std::int64_t shortest_doze_ns = 50'000;
constexpr std::int64_t longest_doze_ns = 800'000;  // so late an event may be noticed

// Says how long the poller sleeps; returns how long it may.
std::int64_t publish_sleep(std::int64_t until_ns) noexcept {
  sched.poll_until_ns.store_relaxed(until_ns);
  detail::heavy_barrier("PL-1");
  // PL-1: who armed an earlier timer before this either saw us and wakes us, or is seen here.
  return std::min(until_ns, earliest_timer());
}

void stop_being_poller() noexcept {
  sched.poll_until_ns.store_relaxed(0);
  sched.poller.give_back();
}

// Who has become runnable meanwhile.
goroutine_list sleep_as_poller() noexcept {
  platform::wait_for_events(publish_sleep(earliest_timer()));
  goroutine_list woken = look_at_all_sets();
  stop_being_poller();
  return woken;
}

// On a machine that has nothing to run.
goroutine_list find_events(machine* m) noexcept {
  if (!is_anything_watched()) return {};
  goroutine_list woken = look_at_sets(m);
  if (woken.is_empty()) return woken;
  ++m->finds;
  sched.finds.add_relaxed(1);
  return woken;
}

}  // namespace

// Flat, for it returns after a system call: platform/system_call.hpp.
[[gnu::flatten]] goroutine* poll_now(machine* m) noexcept {
  goroutine_list woken = find_events(m);
  return woken.is_empty() ? nullptr : ready_all_to_run_first(std::move(woken));
}

namespace {

// Have goroutines that run on other processors anything to do with events? Some were found since
// this was asked last.
bool are_events_likely(machine* m) noexcept {
  const std::uint32_t finds = sched.finds.load_relaxed();
  if (std::exchange(m->seen_finds, finds) == finds || !is_anything_watched()) return false;
  return sched.gate.idle() + 1 < sched.procs.read();
}

}  // namespace

bool look_on(machine* m) noexcept {
  if (!m->is_searching || !are_events_likely(m)) return false;
  for (int looks = 0; looks < further_looks; ++looks) {
    for (int i = 0; i < pauses_between_looks; ++i) detail::cpu_relax();
    if (m->border.attention() != 0 || is_anything_queued()) return true;
    if (goroutine_list woken = find_events(m); !woken.is_empty()) {
      ready_all(std::move(woken));
      return true;
    }
  }
  return false;
}

void poll_if_late(std::int64_t now_ns) noexcept { ready_all(look_at_late_sets(now_ns)); }

bool is_poller_missing() noexcept {
  // WG-1: a machine that gives the role up, or has found nothing watched, goes idle afterwards.
  return is_anything_watched() && !sched.poller.is_taken();
}

void see_to_polling() noexcept {
  detail::light_barrier("WG-1");
  if (is_poller_missing()) wake_if_needed();
}

namespace {

// Since this was asked last on this machine, have others found events by looking for some?
bool have_others_found_events(machine* m) noexcept {
  const std::uint32_t others = sched.finds.load_relaxed() - m->finds;
  return std::exchange(m->others_finds, others) != others;
}

// False: the poller does not doze.
bool wake_dozing_poller() noexcept {
  sched.lock.acquire();
  machine* m = sched.dozing_poller.load_relaxed();  // changed under the lock
  const bool is_taken = m != nullptr && remove_idle_machine(m);
  sched.lock.release();
  if (is_taken) m->note.wake();
  return m != nullptr;
}

void lie_down_dozing(machine* m) noexcept {
  m->next_p = nullptr;
  detail::lock_guard guard(sched.lock);
  push_idle_machine(m);
  sched.dozing_poller.store_relaxed(m);
}

// False: somebody has taken it from among the idle machines, and is about to wake it.
bool get_up(machine* m, bool was_woken) noexcept {
  detail::lock_guard guard(sched.lock);
  sched.dozing_poller.store_relaxed(nullptr);
  return !was_woken && remove_idle_machine(m);
}

enum class doze_end : std::uint8_t {
  at_deadline,
  called,  // to look for itself
  needed,  // it was given a processor, or is to end
};

doze_end doze_once(machine* m, std::int64_t until_ns) noexcept {
  lie_down_dozing(m);
  const std::int64_t deadline_ns = publish_sleep(until_ns);
  // Who goes idle last of all, after this, finds us dozing: it takes the lock as well.
  const bool was_woken = m->note.sleep(is_everybody_idle() ? 0 : deadline_ns);
  if (get_up(m, was_woken)) return doze_end::at_deadline;
  if (!was_woken) m->note.sleep();
  m->note.clear();
  return m->next_p == nullptr && !m->ends ? doze_end::called : doze_end::needed;
}

// Dozes as long as others find events. False: it is needed elsewhere.
bool doze(machine* m) noexcept {
  look_counts looks;
  are_any_neglected(looks);
  for (std::int64_t ns = shortest_doze_ns;; ns = std::min(2 * ns, longest_doze_ns)) {
    const doze_end end = doze_once(m, platform::now_ns() + ns);
    if (end == doze_end::needed) return false;
    if (end == doze_end::called || is_everybody_idle() || !have_others_found_events(m) ||
        are_any_neglected(looks) || earliest_timer() <= platform::now_ns()) {
      return true;
    }
  }
}

}  // namespace

bool sleep_until_needed(machine* m) noexcept {
  const std::int64_t until = earliest_timer();
  if (sched.gate.is_halted() || (until == never && !is_anything_watched())) return stop_m(m);
  // In reserve (WG-3): others are busy, and look for events when they have nothing else to do; if
  // that is late, or a timer is, sysmon sees to it.
  if (sched.gate.available() == 0) return stop_m(m);
  const bool may_doze = have_others_found_events(m) && !is_everybody_idle();
  if (!sched.poller.try_take()) {
    timer_armed(until);                             // the one that polls may not know of ours
    if (is_everybody_idle()) wake_dozing_poller();  // nobody looks for events any more
    return stop_m(m);
  }
  if (may_doze && !doze(m)) {
    stop_being_poller();
    see_to_polling();
    timer_armed(earliest_timer());
    return start_again(m);
  }
  goroutine_list woken = sleep_as_poller();
  const bool has_p = !sched.gate.is_halted() && take_up_search(m);
  ready_all(std::move(woken));
  return has_p || stop_m(m);
}

void timer_armed(std::int64_t when_ns) noexcept {
  if (when_ns == never) return;
  detail::light_barrier("PL-1");
  const std::int64_t until = sched.poll_until_ns.load_relaxed();  // PL-1: the barriers order it
  if (until == 0) {
    wake_if_needed();
  } else if (when_ns < until && !wake_dozing_poller()) {
    platform::break_wait();
  }
}

}  // namespace sley::rt
