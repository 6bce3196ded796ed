// Moves a processor from one machine to another: when its machine blocks, when sysmon has taken it
// away, and when its machine has nothing to run. From Go's handoffp.
#include "runtime/queue/hand_off.hpp"

#include "runtime/queue/batch.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/work.hpp"

#include <utility>

namespace sley::rt {

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

parts::idle_debt make_idle(processor* p, bool was_searching) noexcept {
  if (has_batch(p)) ready_all(make_batch(p));  // no thread makes the calls of an idle processor
  detail::lock_guard guard(sched.lock);
  push_idle(p);
  return sched.gate.go_idle(was_searching);
}

}  // namespace

void hand_off_p(processor* p) noexcept {
  const bool has_work = has_own_work(p) || !sched.queue.is_empty();
  if (has_work && !sched.gate.is_halted() && start_machine(p)) return;
  settle(make_idle(p, false));
}

parts::idle_debt give_up_p(machine* m) noexcept {
  return make_idle(release_p(m), std::exchange(m->is_searching, false));
}

bool settle(parts::idle_debt debt, machine* self) noexcept {
  if (!std::move(debt).begin_to_pay()) return false;
  if (__builtin_expect(sched.stackless_count.load_relaxed() != 0, 0)) help_stackless();  // SK-1
  if (is_anything_queued()) {
    if (self != nullptr) return take_up_search(self);
    wake_if_needed();
  }
  if (self != nullptr) return false;
  see_to_polling();
  timer_armed(earliest_timer());
  return false;
}

}  // namespace sley::rt
