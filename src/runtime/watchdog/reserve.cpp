// Uses fewer processors where there are not enough CPUs for them: other processes occupy the CPUs,
// or there are more processors than CPUs. A processor is worth a thread only if there is a CPU for
// it. Two server threads that share one remaining CPU do less work than one, because each waits for
// the other and they sleep and wake all the time. (A server and its load generator on two CPUs:
// with one processor the server answers a third more requests per CPU second.)
//
// sysmon adds up how long machines with a processor have run and how long they have waited for a
// CPU. While they wait too long, one more processor is kept in reserve (WG-3), and at first all of
// those for which the process has no CPU. No busy processor is taken, but one that becomes idle is
// not used again. After a while sysmon releases one as a trial. Each failed trial makes the next
// one later.
//
// This helps goroutines that run for microseconds, as in servers. It must not make a goroutine wait
// for another that computes. So half of the reserve is released, and after each further millisecond
// half of the rest, while goroutines or timers wait for a millisecond, or a goroutine computes on
// from one look to the next. A thread without a CPU does not compute: threads that take CPUs from
// each other are what the reserve is for.
#include "runtime/watchdog/reserve.hpp"

#include "base/peek.hpp"
#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"

#include <algorithm>
#include <utility>

namespace sley::rt {

namespace {

constexpr std::int64_t between_samples_ns = 5'000'000;
constexpr std::uint32_t machines_per_look = 8;  // each costs some system calls
// A verdict needs this much time of running and waiting, all machines together.
constexpr std::int64_t evidence_ns = 20'000'000;
constexpr std::int64_t tolerated_part = 3;  // waiting for a third of the running time is tolerated
constexpr int times_to_be_sure = 2;         // in a row
constexpr std::int64_t trial_ns = 30'000'000;  // a verdict takes less, if machines are busy
constexpr std::int64_t longest_wait_ns = 1'000'000;
constexpr std::int64_t end_of_work_ns = 10'000'000;  // no goroutine has run for this long
constexpr std::int64_t longest_hold_ns = 1'600'000'000;

// Processors for which the process has no CPU.
std::uint32_t procs_without_cpu() noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();
  const int cpus = platform::available_cpus(sched.threads.template_id.load_relaxed());
  return procs - std::min(procs, static_cast<std::uint32_t>(cpus));
}

}  // namespace

void cpu_contention::restart() noexcept {
  ++trial_;
  next_ns_ = 0;
  crowded_ = 0;
  sum_ = {0, 0};
}

crowding cpu_contention::look(std::int64_t now_ns) noexcept {
  if (now_ns < next_ns_) return crowding::open;
  next_ns_ = now_ns + between_samples_ns;
  const std::uint32_t procs = sched.procs.read_relaxed();
  for (std::uint32_t i = std::min(procs, machines_per_look); i > 0; --i) {
    if (machine* m = sched.processors[first_++ % procs].m.read()) add(*m);
  }
  if (sum_.ran_ns + sum_.waited_ns < evidence_ns) return crowding::open;
  const platform::cpu_times sum = std::exchange(sum_, {0, 0});
  const bool is_crowded = sum.waited_ns > sum.ran_ns / tolerated_part;
  crowded_ = is_crowded ? crowded_ + 1 : 0;
  if (!is_crowded) return crowding::none;
  return crowded_ >= times_to_be_sure ? crowding::sure : crowding::likely;
}

void cpu_contention::add(machine& m) noexcept {
  const platform::cpu_times t = platform::thread_cpu_times(m.thread_id.load_relaxed());
  const platform::cpu_times before = std::exchange(m.share.times, t);
  const bool is_known = std::exchange(m.share.trial, trial_) == trial_;
  if (!is_known || t.ran_ns < before.ran_ns) return;  // another thread's, or not told
  sum_.ran_ns += t.ran_ns - before.ran_ns;
  sum_.waited_ns += t.waited_ns - before.waited_ns;
}

void work_progress::restart(std::int64_t now_ns) noexcept {
  static_cast<void>(look(now_ns));
  moved_at_ns_ = now_ns;
}

bool work_progress::is_any_late(std::int64_t now_ns) noexcept {
  return now_ns - looked_at_ns_ >= longest_wait_ns && look(now_ns);
}

bool work_progress::has_ended(std::int64_t now_ns) const noexcept {
  return now_ns - moved_at_ns_ >= end_of_work_ns;
}

// True if the machine has run the goroutine that it has since the last look, on a CPU.
bool work_progress::runs_on(const processor& p, std::uint64_t switches, view& seen) noexcept {
  const machine* m = p.m.read();
  const bool is_same = std::exchange(seen.m, m) == m;
  if (!is_same || switches != 0 || m == nullptr || base::peek(m->g) == nullptr) {
    seen.ran_ns = unknown;
    return false;
  }
  const std::int64_t ran_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  if (ran_ns < 0) return true;  // not told
  if (seen.ran_ns == unknown) seen.ran_ns = ran_ns;
  return ran_ns - seen.ran_ns >= longest_wait_ns / 2;
}

bool work_progress::look(std::int64_t now_ns) noexcept {
  looked_at_ns_ = now_ns;
  std::uint64_t waiting = sched.queue.size();
  std::uint64_t switches = 0;
  bool does_any_run_on = false;
  const std::uint32_t procs = sched.procs.read_relaxed();
  for (std::uint32_t i = 0; i < procs; ++i) {
    const processor& p = sched.processors[i];
    const std::uint64_t count = p.figures.switches.load_relaxed();
    const std::uint64_t own = count - std::exchange(seen_[i].switches, count);
    if (runs_on(p, own, seen_[i])) does_any_run_on = true;
    switches += own;
    waiting += p.queue.size();
  }
  if (switches != 0) moved_at_ns_ = now_ns;
  return does_any_run_on || std::exchange(seen_waiting_, waiting) > switches ||
         earliest_timer() < now_ns - longest_wait_ns;
}

std::uint32_t reserve_policy::release(std::uint32_t left) noexcept {
  cpus_.restart();
  is_trial_ = false;
  return left;
}

std::uint32_t reserve_policy::grow(std::uint32_t reserve, std::int64_t now_ns) noexcept {
  cpus_.restart();
  if (std::exchange(is_trial_, false)) hold_ns_ = std::min(2 * hold_ns_, longest_hold_ns);
  hold_until_ns_ = now_ns + hold_ns_;
  const std::uint32_t more = std::max(reserve + 1, procs_without_cpu());
  return std::min(more, sched.procs.read_relaxed() - 1);
}

// Is there a CPU for one more processor now?
std::uint32_t reserve_policy::begin_trial(std::uint32_t reserve, std::int64_t now_ns) noexcept {
  cpus_.restart();
  is_trial_ = true;
  hold_until_ns_ = now_ns + trial_ns;
  return reserve - 1;
}

std::uint32_t reserve_policy::wanted(std::int64_t now_ns) noexcept {
  const std::uint32_t reserve = sched.gate.reserve();
  if (reserve != 0) {
    const bool is_late = work_.is_any_late(now_ns);  // a look, on which has_ended relies
    if (work_.has_ended(now_ns)) return release(0);
    if (is_late) return release(reserve / 2);
    if (sched.gate.idle() < reserve) cpus_.restart();  // some to be withheld are busy still
  }
  const crowding seen = cpus_.look(now_ns);
  const bool is_crowded =
      seen == crowding::sure || (seen == crowding::likely && reserve < procs_without_cpu());
  if (is_crowded) return grow(reserve, now_ns);
  if (reserve != 0 && now_ns >= hold_until_ns_) return begin_trial(reserve, now_ns);
  if (reserve == 0 && seen == crowding::none) hold_ns_ = shortest_hold_ns;
  return reserve;
}

bool reserve_policy::adjust(std::int64_t now_ns) noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();
  if (!debug_options().keeps_reserve || procs == 1) return false;
  const std::uint32_t before = sched.gate.reserve();
  const std::uint32_t target = sched.gate.is_halted()
                                   ? 0  // no machine runs
                                   : platform::kept_in_reserve(wanted(now_ns), procs);
  if (target == before) return false;
  if (before == 0) work_.restart(now_ns);
  settle(sched.gate.keep_in_reserve(target));  // machines in reserve have not looked at anything
  return target > before;
}

}  // namespace sley::rt
