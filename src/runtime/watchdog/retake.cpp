// Watches processors that make no progress: their goroutine computes, is in an announced call, or
// sleeps in the kernel unannounced. From Go's retake, which takes processors from announced calls
// only and signals computing goroutines.
//
// What sysmon sees from outside may be outdated a moment later. So before it takes a processor it
// closes the machine's border and looks again.
#include "runtime/watchdog/retake.hpp"

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "platform/probes.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/thread_block.hpp"
#include "runtime/state/work.hpp"
#include "runtime/watchdog/preempt.hpp"
#include "runtime/watchdog/thread_blocks.hpp"
#include "runtime/watchdog/watchdog.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

namespace {

using parts::border;

// A blocked goroutine keeps its processor at least this long.
constexpr std::int64_t take_after_ns = 20'000;
// After this time a processor is taken from a blocked goroutine even if no work waits for it, so
// that sysmon may rest.
constexpr std::int64_t take_anyway_ns = 10'000'000;
// A thread whose CPU clock stands still this long sleeps, where only the clock tells.
constexpr std::int64_t asleep_after_ns = 500'000;
// At most this many threads are being made at once: while one begins to run, the next is made.
constexpr std::uint32_t threads_at_once = 3;
// A goroutine has this long after the flag was raised to come by at the border before it is
// signalled.
constexpr std::int64_t signal_after_ns = 50'000;
// A goroutine is stopped only if its turn took this part of a slice as CPU time, or if the turns of
// all goroutines that share the slice took that part together.
constexpr std::int64_t least_part_by_turn = 10;
constexpr std::int64_t least_part_by_slice = 2;
// The next goroutine runs this long after a signal. An earlier look would take the CPU from the
// threads that hand the processor over.
constexpr std::int64_t settled_after_ns = 200'000;
// While goroutines wait, sysmon notices the begin of a slice within this part of it.
constexpr std::int64_t looks_per_slice = 8;

// Would another goroutine run if this processor were free? Idle processors and searching machines
// take the work that they can reach, so then only the processor's own queue counts.
bool is_wanted(const processor* p) noexcept {
  if (sched.gate.available() != 0 || sched.gate.searching() != 0) return has_own_work(p);
  return is_work_waiting(p);
}

// Hands the taken processor on. The next blocked processor should not wait for a thread to be made,
// so one is requested ahead; several where all calls were long.
void pass_on(processor* p) noexcept {
  const bool will_more_block = watchdog.looks[p->id].calls_last && is_work_waiting(p);
  sched.retakes.add_relaxed(1);
  hand_off_p(p);
  if (sched.idle_machine_count.load_relaxed() != 0) return;
  request_threads(will_more_block ? threads_at_once : 1);
}

// Takes the processor if the machine is still in this call.
bool try_take_from_call(processor* p, machine* m, std::uint32_t call) noexcept {
  const bool may_take = m->border.claim(call) && m->p == p;
  if (may_take) {
    platform::probe_retake(m->g->id);
    release_p(m);
  }
  m->border.open(may_take ? std::uint32_t{border::lost} : 0);
  watchdog.looks[p->id].calls_last = may_take;
  if (may_take) pass_on(p);
  return may_take;
}

// Takes the processor if the machine is outside and still runs the goroutine that was seen.
bool try_take_from_sleeper(processor* p, machine* m, const last_look& s) noexcept {
  const bool may_take =
      m->border.close() && m->p == p && p->figures.switches.load_relaxed() == s.switches;
  if (may_take) {
    platform::probe_retake(m->g->id);
    release_p(m);
    watchdog.detached.add(m);
    begin_thread_block(m, s.rest_from_ns);
  }
  m->border.open(may_take ? std::uint32_t{border::lost} : 0);
  if (may_take) pass_on(p);
  return may_take;
}

// The thread has used no CPU time since the last look, and the kernel says that it sleeps (it may
// merely have lost its CPU to another process). Where the system does not tell the one, the other
// decides: a CPU clock that stands still for some looks, or, without either, the time alone. To
// take the processor of a thread that only waits for a CPU does no harm but the way back.
bool has_slept(last_look& s, const machine* m, std::int64_t now_ns) noexcept {
  const std::int32_t thread_id = m->thread_id.load_relaxed();
  const std::int64_t before = std::exchange(s.cpu_ns, platform::thread_cpu_ns(thread_id));
  if (before != s.cpu_ns) {
    s.cpu_from_ns = now_ns;
    return false;
  }
  const platform::thread_state state = platform::state_of_thread(thread_id);
  if (state != platform::thread_state::unknown) return state == platform::thread_state::sleeps;
  return now_ns - s.cpu_from_ns >= (s.cpu_ns >= 0 ? asleep_after_ns : take_anyway_ns);
}

// An announced call that has lasted since the last look.
bool take_from_call(processor* p, machine* m, const last_look& s, std::int64_t now_ns) noexcept {
  if (now_ns - s.still_from_ns < take_anyway_ns && !is_wanted(p)) return false;
  return try_take_from_call(p, m, s.call);
}

bool take_from_sleeper(processor* p, machine* m, last_look& s, std::int64_t now_ns) noexcept {
  const bool is_late = now_ns - s.still_from_ns >= take_anyway_ns;
  if (!is_late && !is_wanted(p)) return false;
  if (!has_slept(s, m, now_ns)) return false;
  if (m->border.is_inside()) {
    // The thread waits for a lock of the runtime, or for a lock of libc in a function of the
    // program that the runtime called. An interrupted goroutine may hold that lock.
    if (is_late) release_interrupted();
    return false;
  }
  if (!detail::barriers_are_symmetric) return try_take_from_sleeper(p, m, s);
  m->border.raise(border::give);
  interrupt(m, true);
  return false;
}

// Has the thread been on a CPU since the flag was raised? If not, a signal would achieve nothing
// and might fail a system call that is about to return.
bool has_run_since_flag(const machine* m, const last_look& s) noexcept {
  const std::int64_t cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  return cpu_ns < 0 || cpu_ns != s.flag_cpu_ns;
}

// There is no idle thread to take over. Requests one. Making it may need a lock of libc whose
// holder has itself been preempted and is queued behind others. So if no thread has come within a
// slice, the first queued goroutine that waits on its own thread moves to the front.
void see_to_successor(std::int64_t late_ns) noexcept {
  request_threads();
  if (late_ns >= debug_options().slice_ns) sched.queue.bring_loner_forward();
}

// Ends the time slice: raises the flag first, sends the signal later. Returns when to look again.
std::int64_t preempt(const processor* p, machine* m, last_look& s, std::int64_t now_ns) noexcept {
  m->slice.from_ns.store_relaxed(s.slice_from_ns);
  m->slice.switches.store_relaxed(s.switches);
  m->border.raise(border::preempt);
  if (!std::exchange(s.is_flagged, true)) {
    s.flag_cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
    return now_ns + signal_after_ns;
  }
  if (!debug_options().async_preempt) return now_ns + signal_after_ns;
  if (!has_run_since_flag(m, s)) return now_ns + 10 * signal_after_ns;
  if (sched.idle_machine_count.load_relaxed() == 0) {
    see_to_successor(now_ns - s.slice_from_ns - debug_options().slice_ns);
  }
  if (!interrupt(m)) return now_ns + signal_after_ns;
  nudge_successor(p);
  return now_ns + settled_after_ns;
}

// The processor has made progress since the last look, or is seen for the first time.
void note_progress(processor* p, const machine* m, last_look& s, std::int64_t now_ns) noexcept {
  // A call has ended: it returned, or a goroutine that came back from its call took the processor.
  const bool has_ended = s.m == m && s.call != 0 && s.call != m->border.call();
  if (has_ended || p->has_seen_return.load_relaxed()) s.calls_last = false;
  p->has_seen_return.store_relaxed(false);
  if (s.m != m) s.slice_cpu_ns = -1;  // another thread, or a new slice
  s.turn_cpu_ns = -1;
  s.m = m;
  s.call = m->border.call();
  s.switches = p->figures.switches.load_relaxed();
  s.still_from_ns = now_ns;
  s.cpu_ns = -1;
  s.cpu_from_ns = now_ns;
  s.rest_cpu_ns = -1;
  s.rest_from_ns = now_ns;
  s.is_flagged = false;  // it comes by the border, so a signal might only hit a system call
}

bool is_still(const processor* p, const machine* m, const last_look& s) noexcept {
  return s.m == m && s.call == m->border.call() && s.switches == p->figures.switches.load_relaxed();
}

// For the profile: since when has the thread not run? The time is read after the CPU time, because
// sysmon may have waited for a CPU since its look began.
void look_at_rest(const machine* m, last_look& s) noexcept {
  if (!thread_block_profile.is_on()) return;
  const std::int64_t cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  if (std::exchange(s.rest_cpu_ns, cpu_ns) != cpu_ns) s.rest_from_ns = platform::now_ns();
}

// Takes the processor from a blocked goroutine. True if it did.
bool take_if_blocked(processor* p, machine* m, last_look& s, std::int64_t now_ns) noexcept {
  const bool has_progressed = !is_still(p, m, s);
  if (has_progressed) note_progress(p, m, s, now_ns);
  look_at_rest(m, s);
  if (has_progressed) {
    const bool is_due = (s.calls_last && is_wanted(p)) || !platform::stays_in_call();
    return s.call != 0 && is_due && try_take_from_call(p, m, s.call);
  }
  if (now_ns - s.still_from_ns < take_after_ns) return false;
  return s.call != 0 ? take_from_call(p, m, s, now_ns) : take_from_sleeper(p, m, s, now_ns);
}

// Has the slice been used? While a thread waits for a CPU the clock goes on, so a short turn looks
// like a long one. A goroutine that is stopped in its turn keeps its thread, so the runtime would
// make another, and each would wait longer for a CPU.
bool has_computed(const machine* m, last_look& s) noexcept {
  const std::int64_t slice_ns = debug_options().slice_ns;
  const std::int64_t cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  if (s.slice_cpu_ns < 0) s.slice_cpu_ns = cpu_ns;
  if (s.turn_cpu_ns < 0) s.turn_cpu_ns = cpu_ns;
  return cpu_ns < 0 || cpu_ns - s.turn_cpu_ns >= slice_ns / least_part_by_turn ||
         cpu_ns - s.slice_cpu_ns >= slice_ns / least_part_by_slice;
}

// Ends the time slice of a computing goroutine. Returns when to look again.
std::int64_t watch_slice(const processor* p, machine* m, last_look& s,
                         std::int64_t now_ns) noexcept {
  const std::int64_t slice_ns = debug_options().slice_ns;
  const std::int64_t end_ns = s.slice_from_ns + slice_ns;
  const std::int64_t soon_ns = now_ns + slice_ns / looks_per_slice;
  const bool may_end = now_ns > s.slice_from_ns && has_computed(m, s);
  if (is_work_waiting(p)) {
    if (now_ns < end_ns) return std::min(end_ns, soon_ns);
    return may_end ? preempt(p, m, s, now_ns) : now_ns + 10 * signal_after_ns;
  }
  // No goroutine waits yet. The next timer may change that; other work waits for the next look.
  return now_ns < end_ns ? end_ns : std::max(earliest_timer(), soon_ns);
}

// Returns when to look at the processor again at the latest.
std::int64_t look_at(processor* p, std::int64_t now_ns, look_result& result) noexcept {
  last_look& s = watchdog.looks[p->id];
  machine* m = p->m.read();
  if (m == nullptr) {
    s.m = nullptr;
    ++result.without_machine;
    return never;
  }
  const std::uint32_t tick = p->tick.load_relaxed();
  if (s.m == nullptr || s.tick != tick) {
    s.tick = tick;
    s.slice_from_ns = now_ns;
    s.m = nullptr;  // it counts as without progress from the next look at the earliest
  }
  if (take_if_blocked(p, m, s, now_ns)) {
    result.has_taken = true;
    s.m = nullptr;
    return never;
  }
  return watch_slice(p, m, s, now_ns);
}

}  // namespace

look_result look_at_processors(std::int64_t now_ns) noexcept {
  look_result result{.look_at_ns = never};
  if (sched.gate.is_halted()) return result;
  const std::uint32_t procs = sched.procs.read_relaxed();  // only this thread changes it
  for (std::uint32_t i = 0; i < procs; ++i) {
    const std::int64_t again_ns = look_at(&sched.processors[i], now_ns, result);
    result.look_at_ns = std::min(result.look_at_ns, again_ns);
  }
  // A processor is on its way from one machine to another, where a slice begins.
  if (result.without_machine > sched.gate.idle()) {
    result.look_at_ns = std::min(result.look_at_ns, now_ns + signal_after_ns);
  }
  return result;
}

}  // namespace sley::rt
