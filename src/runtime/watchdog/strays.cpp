// Machines that run a goroutine without a processor. One that returns from its call and enters the
// runtime needs no attention. One that computes is stopped until it is its turn.

#include "runtime/watchdog/strays.hpp"

#include "platform/os.hpp"
#include "runtime/run/netpoll.hpp"
#include "runtime/state/options.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/watchdog/preempt.hpp"

namespace sley::rt {

namespace {

machine* strays = nullptr;          // [sysmon]
constexpr int strays_at_once = 64;  // each costs a system call
// A stray may use this part of a time slice. A goroutine that only returns from its call and enters
// the runtime needs less.
constexpr std::int64_t tolerated_parts = 10;

// A machine in an announced call is no stray: it may compute or sleep as long as it likes, and asks
// for a processor on its way back.
bool runs_without_p(const machine* m) noexcept {
  return (m->border.attention() & parts::border::lost) != 0 && m->border.call() == 0;
}

// Adds the strays that threads other than sysmon have made.
void find_strays() noexcept {
  if (!sched.new_strays.is_any()) return;
  sched.new_strays.take();
  for (machine* m : sched.machines) {
    if (runs_without_p(m)) add_stray(m);
  }
}

void watch(machine* m) noexcept {
  const std::int64_t cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  const std::int64_t tolerated_ns = debug_options().slice_ns / tolerated_parts;
  if (cpu_ns >= 0 && cpu_ns - m->stray_cpu_ns < tolerated_ns) return;
  if (runs_without_p(m)) interrupt(m);  // it may have got a processor meanwhile
}

}  // namespace

bool are_there_strays() noexcept { return strays != nullptr; }

void add_stray(machine* m) noexcept {
  m->stray_cpu_ns = platform::thread_cpu_ns(m->thread_id.load_relaxed());
  if (m->is_stray) return;
  m->is_stray = true;
  m->next_stray = strays;
  strays = m;
}

// Looks at a batch of strays and moves them behind the others.
void watch_strays() noexcept {
  find_strays();
  machine** link = &strays;
  machine* seen = nullptr;
  for (int left = strays_at_once; left > 0 && *link != nullptr; --left) {
    machine* m = *link;
    *link = m->next_stray;
    if (!runs_without_p(m)) {
      m->is_stray = false;
      continue;
    }
    if (debug_options().async_preempt && !sched.gate.is_halted()) watch(m);
    m->next_stray = seen;
    seen = m;
  }
  while (*link != nullptr) link = &(*link)->next_stray;
  *link = seen;
}

}  // namespace sley::rt
