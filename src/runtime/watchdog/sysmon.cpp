// The thread that watches all others. It holds no processor. It alone closes borders: it takes
// processors from blocked threads and stops the world. It also looks for deadlocks. From Go's
// sysmon.
//
// It looks often while it finds something and seldom otherwise: every 60 us at first (Go: 20; that
// would make more threads for blocking calls and use more CPU time), after 50 rounds without
// success at doubled intervals up to 10 ms, and at the end of a time slice. When all processors are
// idle and nothing is left to tidy up, it rests: it sleeps until one is taken into use (pop_idle).
// So an idle process makes no wake-ups. Where a timer will bring the work, sysmon does not have
// itself woken, but sleeps until a millisecond after it: most such work has ended by then, and the
// thread that does it is spared the wake-up. Exception: ten a second while a goroutine without a
// processor sleeps in the kernel, because it might come back and compute.
//
// After work that comes often sysmon looks on for a while before it rests, because each rest costs
// a wake-up of sysmon. After work that comes seldom it rests at once: in a process with a ticker of
// a second sysmon looks once a second.
#include "runtime/watchdog/sysmon.hpp"

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/unseen.hpp"
#include "runtime/inspect/dump.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/wall_profile.hpp"
#include "runtime/state/work.hpp"
#include "runtime/watchdog/deadlock.hpp"
#include "runtime/watchdog/retake.hpp"
#include "runtime/watchdog/watchdog.hpp"
#include "runtime/watchdog/world.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sley::rt {

namespace {

constexpr std::int64_t longest_delay_ns = 10'000'000;
// With processors in reserve, because timers and goroutines may wait for one.
constexpr std::int64_t longest_delay_in_reserve_ns = 1'000'000;
// With all processors idle while threads run goroutines without one.
constexpr std::int64_t longest_delay_idle_ns = 100'000'000;
// Work that comes this long after the work that last ended a rest comes seldom.
constexpr std::int64_t seldom_ns = 50'000'000;
constexpr std::int64_t second_ns = 1'000'000'000;

// The duties of about once a second, while there is any.
void keep_house(std::int64_t now_ns) noexcept {
  watchdog.threads.look(now_ns);
  if (now_ns < watchdog.house_ns) return;
  watchdog.house_ns = now_ns + second_ns;
  follow_automatic_procs();
  const std::uint32_t pause_s = watchdog.trimmer.trim_batch();
  watchdog.trim_due_ns =
      pause_s == stack_trimmer::never_s ? never : now_ns + std::int64_t{pause_s} * second_ns;
}

// When the next duty is due while no goroutine runs; `never` if there is none.
std::int64_t next_duty_ns() noexcept {
  return watchdog.threads.is_settled() ? watchdog.trim_due_ns : watchdog.house_ns;
}

// All processors are idle: asks to be woken when one is taken into use, unless sysmon looks soon
// after that anyway, at until_ns. False if one already was.
bool announce_rest(std::int64_t until_ns) noexcept {
  detail::lock_guard guard(sched.lock);
  if (!are_all_idle() || sched.gate.reserve() != 0) return false;
  if (!sched.gate.is_halted() && (is_anything_queued() || is_poller_missing())) return false;
  sched.sysmon.rests = true;
  sched.sysmon.rests_until_ns = until_ns;
  return true;
}

// True if a processor was taken into use meanwhile.
bool end_rest() noexcept {
  detail::lock_guard guard(sched.lock);
  return !std::exchange(sched.sysmon.rests, false);
}

// True if sysmon was woken.
bool sleep_until(std::int64_t when_ns, std::int64_t now_ns) noexcept {
  sched.sysmon.delay_ns.store_relaxed(when_ns - now_ns);  // a hint
  const bool was_woken = sched.sysmon.note.sleep(when_ns);
  sched.sysmon.note.restart();
  sched.sysmon.delay_ns.store_relaxed(0);
  return was_woken;
}

// Covers three rare cases. A machine may go idle with work in sight in a race with threads that
// come and go. A machine does not wait for events if sysmon polls at that moment. Memory for stacks
// may be available again without a stack having been freed.
void help_out() noexcept {
  if (sched.stackless_count.load_relaxed() != 0) help_stackless();
  if (sched.gate.available() == 0 || sched.gate.searching() != 0) return;
  if (is_anything_queued() || is_poller_missing()) wake_p();
}

// The duties that can't wait.
look_result watch_over(std::int64_t now_ns) noexcept {
  const look_result look = look_at_processors(now_ns);
  watchdog.spread.look(now_ns);
  if (watchdog.reserve.adjust(now_ns)) watchdog.looks_due.look_round();
  watchdog.detached.watch();
  ready_all(watchdog.late.look(now_ns));
  help_out();
  return look;
}

std::int64_t longest_delay(bool all_idle) noexcept {
  if (sched.gate.reserve() != 0) return longest_delay_in_reserve_ns;
  return all_idle ? longest_delay_idle_ns : longest_delay_ns;
}

look_result look_around(std::int64_t now_ns) noexcept {
  note_time(now_ns);
  serve_dump_requests();
  serve_world_requests();
  look_result look = watch_over(now_ns);
  look.look_at_ns = std::min(look.look_at_ns, watchdog.wall.look(now_ns));
  keep_house(now_ns);
  watchdog.trace.print_if_due(now_ns);
  return look;
}

// May sysmon rest, while all processors are idle? At once only where an event will end the rest: a
// deadlock would not, and cannot be told from work that is about to end before some time has gone.
bool is_quiet() noexcept {
  return watchdog.looks_due.delay_ns() >= longest_delay_ns ||
         (watchdog.comes_seldom && is_event_to_come());
}

// When sysmon looks at the work that the earliest timer brings; `never` if no timer is armed, or
// if one has long been due: then nothing tells when a processor will be taken into use for it.
std::int64_t after_timer_ns(std::int64_t now_ns) noexcept {
  constexpr std::int64_t late_look_ns = sysmon_state::late_look_ns;
  const std::int64_t due_ns = earliest_timer();
  if (due_ns >= never - late_look_ns || due_ns + late_look_ns <= now_ns) return never;
  return due_ns + late_look_ns;
}

// Sleeps until a processor is taken into use, the earliest timer has brought work, or a duty is
// due. False if there is work already.
bool rest(std::int64_t now_ns) noexcept {
  if (debug_options().schedtrace_ns != 0 || wall_profile.is_on()) return false;
  pace& looks = watchdog.looks_due;
  const bool is_watching = !watchdog.detached.is_empty() && !sched.gate.is_halted();
  const std::int64_t watch_ns = is_watching ? now_ns + looks.delay_ns() : never;
  const std::int64_t until_ns = std::min({next_duty_ns(), watch_ns, after_timer_ns(now_ns)});
  if (!announce_rest(until_ns)) return false;
  const bool was_woken = sleep_until(until_ns, now_ns);
  if (end_rest() || was_woken) {
    looks.look_round();
    const std::int64_t woken_ns = platform::now_ns();
    watchdog.comes_seldom = woken_ns - std::exchange(watchdog.woken_ns, woken_ns) >= seldom_ns;
  }
  return true;
}

void sysmon_main(void*) {
  const platform::unseen unseen;
  platform::set_exact_timers();
  platform::ask_for_short_slices();
  watchdog.house_ns = platform::now_ns() + second_ns;
  watchdog.trim_due_ns = watchdog.house_ns;
  pace& looks = watchdog.looks_due;
  for (;;) {
    const std::int64_t now_ns = platform::now_ns();
    const look_result look = look_around(now_ns);
    const bool all_idle = are_all_idle();
    if (look.has_taken) {
      looks.hurry();
    } else {
      looks.slow_down(longest_delay(all_idle));
    }
    if (!all_idle) sched.sysmon.awaits_foreigners.store_relaxed(false);
    if (all_idle && is_quiet()) {
      look_for_deadlock();
      if (rest(now_ns)) continue;
    }
    watchdog.due_ns = std::min(looks.after(watchdog.due_ns, now_ns), look.look_at_ns);
    if (sleep_until(watchdog.due_ns, now_ns)) looks.hurry();
  }
}

}  // namespace

void keep_watch() noexcept { watch_over(platform::now_ns()); }

void start_sysmon() noexcept {
  const int error = platform::create_thread(&sysmon_main, nullptr, "sley sysmon");
  if (error != 0) base::fatal("sley: can't make the thread that watches the others");
}

}  // namespace sley::rt
