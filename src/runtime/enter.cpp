#include "runtime/enter.hpp"

#include "base/check.hpp"
#include "platform/current.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/spread.hpp"

namespace sley::rt {

namespace {

using parts::border;

// A foreign thread needs no processor; its use of the library ends a pause between two run()s.
machine* attend_foreign(machine* m) noexcept {
  m->border.lower(border::stop | border::moves);
  if (sched.gate.is_paused()) resume();
  return m;
}

}  // namespace

// The rare cases at the entrance. If the processor is gone, gets another. If the scheduler stops or
// the time slice is over, the goroutine waits for its next turn. It stays on its thread, because
// the caller may hold a std::mutex and call a function that never parks.
machine* attend(machine* m, bool may_move) noexcept {
  // Checked before any wait, because in the child no other thread is left to open the border.
  if ((m->border.attention() & border::forked) != 0) {
    base::fatal("sley: used after fork(): the child may only exec or _exit");
  }
  for (;;) {  // ends: each round attends to one reason, and new ones are rare
    m->border.wait_until_open();
    if (m->is_foreign) return attend_foreign(m);
    if (m->p == nullptr) {
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
      run_all_due_timers();
      wait_for_turn(m);
    } else {
      return m;
    }
  }
}

bool is_in_user_code() noexcept {
  const machine* m = current_machine();
  return m != nullptr && !m->is_foreign && !m->border.is_inside();
}

machine* enter_slow() noexcept {
  bool must_attend = false;
  machine* m = current_machine();
  if (machine* calling = platform::calling_machine(); m == nullptr && calling != nullptr) {
    m = calling;
    must_attend = !leave_call(m);
  } else if (m == nullptr) {
    m = adopt_foreign_thread();
  }
  return m->border.enter() && !must_attend ? m : attend(m);
}

}  // namespace sley::rt
