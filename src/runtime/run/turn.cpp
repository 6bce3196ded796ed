// Goroutines that cannot leave their thread when they stop: locked ones, goroutines that were
// stopped at the border or in the middle of user code, and goroutines inside blocking(). The thread
// itself waits, on its machine's note and on its present stack, and the goroutine is queued like
// any other. The machine that picks it hands its processor to that thread and stops. From Go's
// stoplockedm and startlockedm.
#include "runtime/run/turn.hpp"

#include "base/check.hpp"
#include "platform/probes.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

void bind_to_thread(machine* m, goroutine* g) noexcept {
  g->bound_to = m;
  g->needs.or_acq_rel(needs_machine, "TR-1");
}

void sleep_until_turn(machine* m, goroutine* g) noexcept {
  m->note.sleep();
  m->note.clear();
  wait_while_held(g);  // TR-1: sysmon may have seen g waiting before g was bound to the thread
  g->needs.and_acq_rel(static_cast<std::uint8_t>(~needs_machine), "TR-1");
  g->status.transition(parts::status::runnable, parts::status::running);
  if (is_timed(g)) end_measured_wait(m->next_p, g);
  if (m->next_p == nullptr) return;  // release_interrupted() woke it, without a processor
  acquire_p(m, m->next_p);
  m->border.lower(parts::border::preempt);  // the slice that was to end has ended
  platform::probe_run(g->id);
  count_switch(m->p, nullptr, g, departure::none);
}

void note_leave(machine* m, goroutine* g) noexcept {
  if (m->p != nullptr) {
    count_leave(m->p, g, departure::none);
  } else {
    leave_without_p(m, g);
  }
}

void wait_for_turn(machine* m) noexcept {
  goroutine* g = m->g;
  bind_to_thread(m, g);
  note_leave(m, g);
  g->status.transition(parts::status::running, parts::status::runnable);
  processor* p = m->p != nullptr ? release_p(m) : nullptr;
  sched.queue.push_back(g);
  if (p != nullptr) {
    hand_off_p(p);
  } else {
    wake_if_needed();
  }
  sleep_until_turn(m, g);
}

void park_thread(machine* m, wait reason, const void* object, after_switch_action action,
                 void* arg) noexcept {
  goroutine* g = m->g;
  platform::probe_park(g->id, static_cast<std::uint8_t>(reason), object);
  g->reason = reason;
  g->waits_for = object;
  g->parked_s.store_relaxed(sched.coarse_s.load_relaxed());
  if (!m->is_foreign) {
    bind_to_thread(m, g);
    note_leave(m, g);
  }
  g->status.transition(parts::status::running, parts::status::waiting);
  m->waits.store_release(true, "DL-2");
  // From now on a waker finds the thread asleep or about to sleep. The wake may come first.
  if (m->is_foreign) {
    sched.foreign_parks.add_relaxed(1);
    action(g, arg);
    see_to_polling();  // it may wait for a descriptor
    detail::light_barrier("DL-1");
    if (sched.sysmon.awaits_foreigners.load_relaxed()) wake_sysmon();  // DL-1
    m->note.sleep();
    m->note.clear();
    g->status.transition(parts::status::runnable, parts::status::running);
    return;
  }
  count(m->p->figures.parks);
  processor* p = release_p(m);
  action(g, arg);
  hand_off_p(p);
  sleep_until_turn(m, g);
  m->waits.store_relaxed(false);
}

void give_turn(machine* m, goroutine* g) noexcept {
  machine* owner = g->bound_to;
  processor* p = release_p(m);
  owner->next_p = p;
  sched.hand_offs.add_relaxed(1);
  owner->note.wake();
}

void release_interrupted() noexcept {
  goroutine_list interrupted =
      sched.queue.extract_loners([](const goroutine* g) { return g->bound_to->is_interrupted; });
  while (goroutine* g = interrupted.pop_front()) {
    g->bound_to->next_p = nullptr;
    g->bound_to->border.raise(parts::border::lost);
    g->bound_to->note.wake();
  }
  sched.sysmon.new_detached.add(1);
}

}  // namespace sley::rt
