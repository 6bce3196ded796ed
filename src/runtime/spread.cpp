// Machines off each other's CPUs. The kernel chooses a CPU for a thread when it wakes it, and may
// then leave two of ours on one CPU for many milliseconds while another has nothing to do: with
// Linux 6.18 on two CPUs that cost a fifth of the throughput of a server whose threads wake each
// other now and then. So sysmon looks where they are, which costs a load each, and moves one away.
//
// sysmon itself goes where none of them is, if it may: each of its looks would cost the goroutine
// beside it 20 us or more, and it has a look at a thread's state in /proc to do before it ends a
// time slice.
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
    const std::int32_t thread_id = m->thread_id.load_relaxed();
    platform::move_thread(thread_id, taken, thread_id);
  } else {
    taken.add(cpu);
  }
}

}  // namespace

void spread_machines(std::int64_t now_ns) noexcept {
  static std::int64_t next_ns = 0;  // [sysmon]
  const std::uint32_t procs = sched.procs.read_relaxed();
  if (now_ns < next_ns || sched.gate.idle() == procs || sched.gate.is_halted()) return;
  next_ns = now_ns + between_looks_ns;
  platform::cpu_set taken;
  for (std::uint32_t i = 0; i < procs; ++i) {
    machine* m = sched.processors[i].m.read();
    if (m != nullptr) see_to_place(m, taken);
  }
  const std::uint32_t* own = platform::place_of_this_thread();
  if (own != nullptr && taken.has(base::peek(*own))) {
    platform::move_thread(0, taken, sched.template_thread_id.load_relaxed());
  }
}

}  // namespace sley::rt
