
#include "runtime/queue/idle.hpp"

#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

namespace {

// A processor is taken into use, so sysmon must look soon. If a timer brought the work, sysmon has
// set itself a time shortly after it, and a wake-up is saved: most such work has ended by then.
void end_sysmon_rest() noexcept {
  sched.sysmon.rests = false;
  const std::int64_t now_ns = platform::now_ns();
  note_time(now_ns);
  if (sched.sysmon.rests_until_ns - now_ns > sysmon_state::late_look_ns) wake_sysmon();
}

}  // namespace

processor* pop_idle(const processor* wanted) noexcept {
  if (sched.gate.is_halted() || !sched.gate.leave_idle()) return nullptr;
  processor** link = &sched.idle_processors;
  if (wanted != nullptr) {
    while (*link != nullptr && *link != wanted) link = &(*link)->next_idle;
    if (*link == nullptr) link = &sched.idle_processors;
  }
  processor* p = *link;
  SLEY_CHECK(p != nullptr, "the gate counts the idle processors");
  *link = p->next_idle;
  if (sched.sysmon.rests) end_sysmon_rest();
  return p;
}

void acquire_p(machine* m, processor* p) noexcept {
  SLEY_CHECK(m->p == nullptr && p->m.read() == nullptr, "a processor has one machine at most");
  m->p = p;
  p->m.publish(m);
  if (m->border.attention() != 0) m->border.lower(parts::border::lost);
  if (p->trace != nullptr) trace_acquire(p, m);
}

processor* release_p(machine* m) noexcept {
  processor* p = m->p;
  if (p->trace != nullptr) trace_release(p, m);
  if (p->meter.run_began_ns != 0) end_measured_run(p);
  m->last_p = p;
  m->p = nullptr;
  p->m.publish(nullptr);
  return p;
}

bool take_idle_p(machine* m) noexcept {
  sched.lock.acquire();
  processor* p = pop_idle(m->last_p);
  sched.lock.release();
  if (p == nullptr) return false;
  acquire_p(m, p);
  return true;
}

}  // namespace sley::rt
