// Uses fewer processors while other processes occupy the CPUs. A processor is worth a thread only
// if there is a CPU for it. Two server threads that share one remaining CPU do less work than one,
// because each waits for the other and they sleep and wake all the time. (A server and its load
// generator on two CPUs: with one processor the server answers a third more requests per CPU
// second.)
//
// sysmon adds up how long machines with a processor have run and how long they have waited for a
// CPU. While they wait too long, one more processor is kept in reserve (WG-3): no busy processor is
// taken, but one that becomes idle is not used again. After a while sysmon releases one as a trial.
// Each failed trial makes the next one later.
//
// This helps goroutines that run for microseconds, as in servers. It must not make a goroutine wait
// for another that computes. So the whole reserve is released as soon as goroutines or timers have
// waited for a millisecond, or a goroutine has run for that long.
#include "runtime/watchdog/reserve.hpp"

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

constexpr std::int64_t between_samples_ns = 10'000'000;
constexpr std::uint32_t machines_per_look = 8;  // each costs some system calls
// A verdict needs this much time of running and waiting, all machines together.
constexpr std::int64_t evidence_ns = 20'000'000;
constexpr std::int64_t tolerated_part = 3;  // waiting for a third of the running time is tolerated
constexpr int times_to_be_sure = 2;         // in a row
constexpr std::int64_t longest_wait_ns = 1'000'000;
constexpr std::int64_t end_of_work_ns = 10'000'000;  // no goroutine has run for this long
constexpr std::int64_t longest_hold_ns = 1'600'000'000;

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
  return crowded_ >= times_to_be_sure ? crowding::sure : crowding::open;
}

void cpu_contention::add(machine& m) noexcept {
  const platform::cpu_times t = platform::thread_cpu_times(m.thread_id.load_relaxed());
  const platform::cpu_times before = std::exchange(m.share.times, t);
  const bool is_known = std::exchange(m.share.trial, trial_) == trial_;
  if (!is_known || before.ran_ns < 0 || t.ran_ns < before.ran_ns) return;  // of another thread
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

bool work_progress::look(std::int64_t now_ns) noexcept {
  looked_at_ns_ = now_ns;
  std::uint64_t waiting = sched.queue.size();
  std::uint64_t switches = 0;
  bool is_stuck = false;
  const std::uint32_t procs = sched.procs.read_relaxed();
  for (std::uint32_t i = 0; i < procs; ++i) {
    const processor& p = sched.processors[i];
    const std::uint64_t count = p.figures.switches.load_relaxed();
    const std::uint64_t own = count - std::exchange(seen_switches_[i], count);
    const machine* m = p.m.read();
    if (std::exchange(seen_machine_[i], m) == m && m != nullptr && own == 0) is_stuck = true;
    switches += own;
    waiting += p.queue.size();
  }
  if (switches != 0) moved_at_ns_ = now_ns;
  return is_stuck || std::exchange(seen_waiting_, waiting) > switches ||
         earliest_timer() < now_ns - longest_wait_ns;
}

std::uint32_t reserve_policy::wanted(std::int64_t now_ns) noexcept {
  const std::uint32_t reserve = sched.gate.reserve();
  if (reserve != 0 && (work_.is_any_late(now_ns) || work_.has_ended(now_ns))) {
    cpus_.restart();
    return 0;
  }
  const crowding seen = cpus_.look(now_ns);
  if (seen == crowding::sure) {
    cpus_.restart();
    hold_until_ns_ = now_ns + hold_ns_;
    hold_ns_ = std::min(2 * hold_ns_, longest_hold_ns);
    return std::min(reserve + 1, sched.procs.read_relaxed() - 1);
  }
  if (reserve != 0 && now_ns >= hold_until_ns_) {
    cpus_.restart();  // a trial: is there a CPU for one more processor now?
    return reserve - 1;
  }
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
