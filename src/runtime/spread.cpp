// Machines off each other's CPUs. The kernel chooses a CPU for a thread when it wakes it, and may
// then leave two of ours on one CPU for many milliseconds while another has nothing to do: with
// Linux 6.18 on two CPUs that cost a fifth of the throughput of a server whose threads wake each
// other now and then. So sysmon looks where they are, which costs a load each, and moves one away.
#include "runtime/spread.hpp"

#include "base/peek.hpp"
#include "platform/placement.hpp"
#include "runtime/sched_state.hpp"

namespace sley::rt {

namespace {

constexpr std::int64_t between_looks_ns = 1'000'000;

// Adds the machine's CPU to those that are taken; if another machine is there, moves this one to
// one that is not. A thread that a goroutine has locked stays where its user wants it, and one in
// an announced call mostly sleeps.
void see_to_place(machine* m, platform::cpu_set& taken) noexcept {
  detail::lock_guard guard(m->border.guard());  // the thread lives as long as we hold it
  if (m->place == nullptr || m->border.call() != 0 || base::peek(m->user_locks) != 0) return;
  const std::uint32_t cpu = base::peek(*m->place);
  if (taken.has(cpu)) {
    platform::move_thread(m->thread_id.load_relaxed(), taken);
  } else {
    taken.add(cpu);
  }
}

}  // namespace

void spread_machines(std::int64_t now_ns) noexcept {
  static std::int64_t next_ns = 0;  // [sysmon]
  const std::uint32_t procs = sched.procs.load_relaxed();
  if (now_ns < next_ns || procs - sched.gate.idle() < 2 || sched.gate.is_halted()) return;
  next_ns = now_ns + between_looks_ns;
  platform::cpu_set taken;
  for (std::uint32_t i = 0; i < procs; ++i) {
    machine* m = sched.processors[i].m.load_acquire("PM-1");
    if (m != nullptr) see_to_place(m, taken);
  }
}

}  // namespace sley::rt
