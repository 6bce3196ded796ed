// Moves a processor from one machine to another: when its machine blocks, when sysmon has taken it
// away, and when a machine without a processor needs one. From Go's handoffp, acquirep and
// exitsyscall.
#include "base/check.hpp"
#include "platform/decisions.hpp"
#include "runtime/idle.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/tracer.hpp"

namespace sley::rt {

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
  if (sched.sysmon_sleeps) {
    sched.sysmon_sleeps = false;
    wake_sysmon();
  }
  return p;
}

void acquire_p(machine* m, processor* p) noexcept {
  SLEY_CHECK(m->p == nullptr && p->m.read() == nullptr, "a processor has one machine at most");
  m->p = p;
  p->m.publish(m);
  if (m->border.attention() != 0) m->border.lower(parts::border::lost);
  if (p->trace != nullptr && m->g != nullptr) trace_begin(p, m, m->g);
}

processor* release_p(machine* m) noexcept {
  processor* p = m->p;
  if (p->trace != nullptr) trace_release(p, m);
  m->last_p = p;
  m->p = nullptr;
  p->m.publish(nullptr);
  return p;
}

namespace {

// Gives the processor to an idle machine. False if there is none.
bool start_machine(processor* p) noexcept {
  sched.lock.acquire();
  machine* m = pop_idle_machine();
  sched.lock.release();
  if (m == nullptr) return false;
  m->next_p = p;
  sched.hand_offs.add_relaxed(1);
  m->note.wake();
  return true;
}

// Makes the processor idle. Searching machines look at its queue.
void make_idle(processor* p, bool has_work) noexcept {
  sched.lock.acquire();
  push_idle(p);
  const bool is_halted = sched.gate.go_idle(false);
  sched.lock.release();
  if (is_halted) return;
  // The machine that is woken searches, and does all the looks below when it goes idle.
  if (has_work) return wake_if_needed();
  detail::heavy_barrier("WG-1");  // WG-1: between going idle and the last look
  if (is_anything_queued()) wake_if_needed();
  see_to_polling();                                // its last holder has not polled
  timer_armed(p->timers.first_ns.load_relaxed());  // nor looked at its timers
}

}  // namespace

void hand_off_p(processor* p) noexcept {
  const bool has_work = has_local_work(p) || !sched.queue.is_empty();
  if (has_work && !sched.gate.is_halted() && start_machine(p)) return;
  make_idle(p, has_work);
}

bool take_idle_p(machine* m) noexcept {
  sched.lock.acquire();
  processor* p = pop_idle(m->last_p);
  sched.lock.release();
  if (p == nullptr) return false;
  acquire_p(m, p);
  return true;
}

namespace {

// Takes back the last processor of m if its present holder is in an announced call.
bool take_back_p(machine* m) noexcept {
  processor* p = m->last_p;
  machine* holder = p == nullptr ? nullptr : p->m.read();  // looked at again below
  if (holder == nullptr) return false;
  const std::uint32_t call = holder->border.call();
  if (call == 0) return false;
  const bool may_take = holder->border.claim(call) && holder->p == p && !sched.gate.is_halted();
  if (may_take) release_p(holder);
  holder->border.open(may_take ? std::uint32_t{parts::border::lost} : 0);
  if (!may_take) return false;
  acquire_p(m, p);
  p->has_seen_return.store_relaxed(true);
  sched.retakes.add_relaxed(1);
  return true;
}

}  // namespace

void regain_p(machine* m, bool may_move) noexcept {
  if (take_idle_p(m) || take_back_p(m)) return;
  if (may_move && m->locks == 0) {
    yield_without_p(m);
  } else {
    wait_for_turn(m);
  }
}

bool is_work_waiting(const processor* p) noexcept {
  if (has_local_work(p) || !sched.queue.is_empty()) return true;
  const std::int64_t first = earliest_timer();
  return first != never && first <= platform::now_ns();
}

}  // namespace sley::rt
