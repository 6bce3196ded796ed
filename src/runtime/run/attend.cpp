// The rare cases at the entrance of the runtime. From Go's exitsyscall and gopreempt_m.
#include "runtime/run/attend.hpp"

#include "base/check.hpp"
#include "platform/probes.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/run/park.hpp"
#include "runtime/run/pause.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/thread_block.hpp"
#include "runtime/state/work.hpp"

namespace sley::rt {

namespace {

using parts::border;

// A foreign thread needs no processor; its use of the library ends a pause between two run()s.
machine* attend_foreign(machine* m) noexcept {
  m->border.lower(border::stop | border::moves);
  if (sched.gate.is_paused()) resume();
  return m;
}

// Takes back the last processor of m if its present holder is in an announced call.
bool retake_p(machine* m) noexcept {
  processor* p = m->last_p;
  machine* holder = p == nullptr ? nullptr : p->m.read();  // looked at again below
  if (holder == nullptr) return false;
  const std::uint32_t call = holder->border.call();
  if (call == 0) return false;
  const bool may_take = holder->border.claim(call) && holder->p == p && !sched.gate.is_halted();
  if (may_take) {
    platform::probe_retake(holder->g->id);
    release_p(holder);
  }
  holder->border.open(may_take ? std::uint32_t{parts::border::lost} : 0);
  if (!may_take) return false;
  acquire_p(m, p);
  p->has_seen_return.store_relaxed(true);
  sched.retakes.add_relaxed(1);
  return true;
}

// Gets a processor for a machine that has lost its own. Its goroutine may have to wait for its
// turn.
void regain_p(machine* m, bool may_move) noexcept {
  if (take_idle_p(m) || retake_p(m)) return;
  if (may_move && m->locks == 0) {
    yield_without_p(m);
  } else {
    wait_for_turn(m);
  }
}

}  // namespace

// If the processor is gone, gets another. If the scheduler stops or
// the time slice is over, the goroutine waits for its next turn. It stays on its thread, because
// the caller may hold a std::mutex and call a function that never parks.
machine* attend(machine* m, bool may_move) noexcept {
  const platform::unseen unseen;
  // Checked before any wait, because in the child no other thread is left to open the border.
  if ((m->border.attention() & border::forked) != 0) {
    base::fatal("sley: used after fork(): the child may only exec or _exit");
  }
  for (;;) {  // ends: each round attends to one reason, and new ones are rare
    m->border.wait_until_open();
    if (m->is_foreign) return attend_foreign(m);
    if (m->p == nullptr) {
      end_thread_block(m);
      regain_p(m, may_move);
      m = current_machine();
      continue;
    }
    const std::uint32_t lowered =
        m->border.lower(border::stop | border::preempt | border::give | border::moves);
    if ((lowered & border::moves) != 0) move_as_asked(m);
    if (sched.gate.is_halted()) {
      wait_for_turn(m);
    } else if ((lowered & border::preempt) != 0 && is_work_waiting(m->p)) {
      sched.preemptions.add_relaxed(1);
      platform::probe_preempt(m->g->id);
      note_preemption(used_slice_ns(m));
      run_all_due_timers();
      wait_for_turn(m);
    } else {
      return m;
    }
  }
}

}  // namespace sley::rt
