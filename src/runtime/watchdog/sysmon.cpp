// The thread that watches all others. It holds no processor. It alone closes borders: it takes
// processors from blocked threads and stops the world. It also looks for deadlocks. From Go's
// sysmon.
//
// It looks often while it finds something and seldom otherwise: every 60 us at first (Go: 20; that
// would make more threads for blocking calls and use more CPU time), after 50 rounds without
// success at doubled intervals up to 10 ms, and at the end of a time slice. When all processors are
// idle and nothing is left to tidy up, it sleeps until one is taken into use (pop_idle). So an idle
// process makes no wake-ups. Exception: ten a second while a goroutine without a processor sleeps
// in the kernel, because it might come back and compute.
#include "runtime/watchdog/sysmon.hpp"

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "runtime/inspect/dump.hpp"
#include "runtime/inspect/sched_trace.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/source/poll.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"
#include "runtime/watchdog/cpu_spread.hpp"
#include "runtime/watchdog/deadlock.hpp"
#include "runtime/watchdog/idle_limit.hpp"
#include "runtime/watchdog/strays.hpp"
#include "runtime/watchdog/take_back.hpp"
#include "runtime/watchdog/threads.hpp"
#include "runtime/watchdog/trim.hpp"
#include "runtime/watchdog/world.hpp"

#include <algorithm>
#include <string_view>

namespace sley::rt {

namespace {

constexpr std::int64_t shortest_delay_ns = 60'000;
constexpr std::int64_t longest_delay_ns = 10'000'000;
// With processors in reserve, because timers and goroutines may wait for one.
constexpr std::int64_t longest_delay_in_reserve_ns = 1'000'000;
// With all processors idle while threads run goroutines without one.
constexpr std::int64_t longest_delay_idle_ns = 100'000'000;
constexpr int patient_rounds = 50;
constexpr std::int64_t second_ns = 1'000'000'000;

// The time until the next look.
class pace {
 public:
  void hurry() noexcept {
    rounds_ = 0;
    delay_ns_ = shortest_delay_ns;
  }
  // Slows down from the next look on, because work that begins after a rest mostly ends soon.
  void look_round() noexcept {
    rounds_ = patient_rounds;
    delay_ns_ = shortest_delay_ns;
  }
  void slow_down(std::int64_t longest_ns) noexcept {
    if (++rounds_ > patient_rounds) delay_ns_ = std::min(2 * delay_ns_, longest_ns);
  }
  std::int64_t delay_ns() const noexcept { return delay_ns_; }
  // When the next look is due, if this one was due at due_ns and happens at now_ns. A late wake-up
  // of the thread does not put off later looks.
  std::int64_t after(std::int64_t due_ns, std::int64_t now_ns) const noexcept {
    return std::clamp(due_ns, now_ns - delay_ns_ / 4 * 3, now_ns) + delay_ns_;
  }

 private:
  int rounds_ = 0;
  std::int64_t delay_ns_ = shortest_delay_ns;
};

// Ends threads that had nothing to do for a whole period. Some are kept, because a preemption needs
// a thread at once.
class thread_count {
 public:
  void look(std::int64_t now_ns) noexcept {
    const std::uint32_t idle = sched.idle_machine_count.load_relaxed();
    least_idle_ = std::min(least_idle_, idle);
    if (now_ns < period_end_ns_) return;
    if (least_idle_ > spare) retire_threads(least_idle_ - spare);
    least_idle_ = idle;
    period_end_ns_ = now_ns + period_ns;
  }
  bool is_settled() const noexcept { return sched.idle_machine_count.load_relaxed() <= spare; }

 private:
  static constexpr std::uint32_t spare = 2;
  static constexpr std::int64_t period_ns = 5 * second_ns;
  std::uint32_t least_idle_ = 0;
  std::int64_t period_end_ns_ = 0;
};

// The duties of about once a second, while there is any.
class housekeeping {
 public:
  void look(std::int64_t now_ns) noexcept {
    threads_.look(now_ns);
    if (now_ns < next_ns_) return;
    next_ns_ = now_ns + second_ns;
    sched.coarse_s.store_relaxed(static_cast<std::uint32_t>((now_ns - start_ns_) / second_ns));
    follow_automatic_procs();
    is_trimmed_ = trim_stacks();
  }
  bool is_settled() const noexcept { return is_trimmed_ && threads_.is_settled(); }
  std::int64_t next_ns() const noexcept { return next_ns_; }

 private:
  const std::int64_t start_ns_ = platform::now_ns();
  std::int64_t next_ns_ = start_ns_ + second_ns;
  bool is_trimmed_ = false;
  thread_count threads_;
};

// All processors are idle: asks to be woken when one is taken into use. False if one already was.
bool announce_rest() noexcept {
  detail::lock_guard guard(sched.lock);
  if (!is_everybody_idle() || sched.gate.reserve() != 0) return false;
  if (!sched.gate.is_halted() && (is_anything_queued() || is_poller_missing())) return false;
  sched.sysmon_sleeps = true;
  return true;
}

void end_rest() noexcept {
  detail::lock_guard guard(sched.lock);
  sched.sysmon_sleeps = false;
}

// True if sysmon was woken.
bool sleep_until(std::int64_t when_ns, std::int64_t now_ns) noexcept {
  sched.sysmon_delay_ns.store_relaxed(when_ns - now_ns);  // a hint
  const bool was_woken = sched.sysmon_note.sleep(when_ns);
  sched.sysmon_note.restart();
  sched.sysmon_delay_ns.store_relaxed(0);
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

std::int64_t longest_delay(bool all_idle) noexcept {
  if (sched.gate.reserve() != 0) return longest_delay_in_reserve_ns;
  return all_idle ? longest_delay_idle_ns : longest_delay_ns;
}

void sysmon_main(void*) {
  platform::set_exact_timers();
  platform::ask_for_short_slices();
  pace looks;
  housekeeping house;
  std::int64_t due_ns = 0;  // when this look was due
  for (;;) {
    const std::int64_t now_ns = platform::now_ns();
    serve_dump_requests();
    serve_world_requests();
    const look_result look = look_at_processors(now_ns);
    spread_machines(now_ns);
    if (see_to_reserve(now_ns)) looks.look_round();
    watch_strays();
    poll_if_late(now_ns);
    help_out();
    house.look(now_ns);
    trace_schedule(now_ns);
    const bool all_idle = is_everybody_idle();
    if (look.has_taken) {
      looks.hurry();
    } else {
      looks.slow_down(longest_delay(all_idle));
    }
    const bool is_quiet = all_idle && looks.delay_ns() >= longest_delay_ns;
    if (is_quiet) look_for_deadlock();
    if (!all_idle) sched.awaits_foreigners.store_relaxed(false);
    const bool is_watching = are_there_strays() && !sched.gate.is_halted();
    if (is_quiet && debug_options().schedtrace_ns == 0 && announce_rest()) {
      const std::int64_t duty_ns = house.is_settled() ? never : house.next_ns();
      const std::int64_t watch_ns = is_watching ? now_ns + looks.delay_ns() : never;
      if (sleep_until(std::min(duty_ns, watch_ns), now_ns)) looks.look_round();
      end_rest();
    } else {
      due_ns = std::min(looks.after(due_ns, now_ns), look.look_at_ns);
      if (sleep_until(due_ns, now_ns)) looks.hurry();
    }
  }
}

}  // namespace

void start_sysmon() noexcept {
  const int error = platform::create_thread(&sysmon_main, nullptr);
  if (error != 0) base::fatal("sley: can't make the thread that watches the others");
}

}  // namespace sley::rt
