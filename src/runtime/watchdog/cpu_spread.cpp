// Machines off each other's CPUs. The kernel chooses a CPU for a thread when it wakes it, and may
// then leave two of ours on one CPU for many milliseconds while another has nothing to do: with
// Linux 6.18 on two CPUs that cost a fifth of the throughput of a server whose threads wake each
// other now and then. So sysmon looks where they are, which costs a load each, and asks a machine
// to move. Its thread does that itself, inside the runtime: on its way it may run on one CPU alone,
// which threads and processes that user code makes would inherit for good.
//
// sysmon itself moves to a CPU without a machine, if it may: each of its looks would cost the
// goroutine beside it 20 us or more, and before it ends a time slice it looks at a thread's state
// in /proc.
#include "runtime/watchdog/cpu_spread.hpp"

#include "base/peek.hpp"
#include "base/random.hpp"
#include "platform/placement.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

constexpr std::int64_t between_looks_ns = 1'000'000;

}  // namespace

// A CPU that the thread may run on and that is not taken; false: there is none.
bool cpu_spread::find_free(std::int32_t thread_id, const platform::cpu_set& taken,
                           std::uint32_t& cpu) noexcept {
  platform::cpu_set free;
  if (platform::allowed_cpus(thread_id, free) < 0) return false;
  free.remove(taken);
  const int count = free.size();
  if (count == 0) return false;
  cpu = free.nth(static_cast<int>(choice_.below(static_cast<std::uint32_t>(count))));
  return true;
}

// Adds the machine's CPU to the taken ones. If another machine is there, asks this one to move to a
// free CPU, which is then taken. A thread that a goroutine has locked stays where the user wants
// it, and a thread in an announced call mostly sleeps.
void cpu_spread::see_to_place(machine* m, platform::cpu_set& taken) noexcept {
  detail::lock_guard guard(m->border.guard());  // keeps the thread alive
  if (m->place == nullptr || m->border.call() != 0 || base::peek(m->user_locks) != 0) return;
  std::uint32_t cpu = base::peek(*m->place);
  if (!taken.has(cpu)) {
    // A request of an earlier look would lead the machine astray now.
    if ((m->border.attention() & parts::border::moves) != 0) m->border.lower(parts::border::moves);
  } else if (find_free(m->thread_id.load_relaxed(), taken, cpu)) {
    m->move_to.store_relaxed(cpu);
    m->border.raise(parts::border::moves);  // AT-1
  }
  taken.add(cpu);
}

void cpu_spread::look(std::int64_t now_ns) noexcept {
  const std::uint32_t procs = sched.procs.read_relaxed();
  if (now_ns < next_ns_ || sched.gate.idle() == procs || sched.gate.is_halted()) return;
  next_ns_ = now_ns + between_looks_ns;
  platform::cpu_set taken;
  for (std::uint32_t i = 0; i < procs; ++i) {
    machine* m = sched.processors[i].m.read();
    if (m != nullptr) see_to_place(m, taken);
  }
  const std::uint32_t* own = platform::place_of_this_thread();
  const std::int32_t like = sched.threads.template_id.load_relaxed();
  std::uint32_t cpu = 0;
  if (own != nullptr && taken.has(base::peek(*own)) && find_free(like, taken, cpu)) {
    platform::move_this_thread(cpu, like);
  }
}

}  // namespace sley::rt
