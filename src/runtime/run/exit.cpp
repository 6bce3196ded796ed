// A goroutine ends. Its stack is still warm: a goroutine that has not begun yet takes it over
// without a switch. From Go's goexit0, which has no such short cut, because there a stack comes
// with the record.
#include "runtime/run/exit.hpp"

#include "base/check.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/stacks.hpp"
#include "runtime/run/attend.hpp"
#include "runtime/run/pause.hpp"
#include "runtime/run/switch.hpp"
#include "runtime/source/next_local.hpp"
#include "runtime/state/hold.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/records.hpp"
#include "runtime/state/report_name.hpp"
#include "runtime/state/sched_state.hpp"

#include <cxxabi.h>

#include <utility>

namespace sley::rt {

namespace {

void give_left_stack(goroutine*, void* s) noexcept { give_stack(static_cast<parts::stack*>(s)); }

// The record goes back; only copies of its fields may be used after.
void retire(machine* m, goroutine* g) noexcept {
  g->status.transition(parts::status::running, parts::status::dead);
  g->stack = nullptr;
  g->needs.store_relaxed(needs_stack);
  count(m->p->figures.finished);
  give_record(m, g);
}

// A new stack has been switched to.
[[gnu::noinline]] void arrive() noexcept {
  const platform::unseen unseen;
  come_back(current_machine()->g->stack->fiber, {});
}

// Runs the task of the goroutine that has this stack. Exceptions are not caught: an exception that
// no frame wants is reported while its stack still stands (see sley_goroutine_personality). The
// object of a forced unwind is null, though the ABI has it caught by reference.
__attribute__((noinline, no_sanitize("null"))) void run_task() {
  const machine* m = current_machine();
  goroutine* g = m->g;
  m->variables.forget();
  show_in_reports(*g);
  current_machine()->border.leave();
  try {
    g->run(g->task);
  } catch (const abi::__forced_unwind&) {
    exit_arrives(g);
  }
  // Outside, because free() takes a lock of libc.
  if (__builtin_expect(g->extra.load_relaxed() != nullptr, 0)) end_extra(g);
  enter_at_bottom();
}

// Where a stack goes on after its goroutine has ended.
struct continuation {
  bool on_this_stack;  // another goroutine begins here, and is the current one already
  goroutine* next;     // else: the next to run; null: the machine's own stack
};

[[gnu::noinline]] continuation finish() noexcept {
  platform::passes_order_to_thread();
  const platform::unseen unseen;
  machine* m = current_machine();
  goroutine* g = m->g;
  parts::stack* s = g->stack;
  m->ends = m->locks != 0;  // it was locked to this thread, which ends with it
  goroutine* next =
      m->ends ? nullptr : next_local(m, departure::ends, s->map_bytes == 0 ? s : nullptr).g;
  if (next == nullptr) count_leave(m->p, nullptr, departure::ends);
  const bool was_main = std::exchange(m->main_returned, false);
  retire(m, g);
  if (was_main) {
    pause();
    sched.main.phase.exchange_acq_rel(run_phase::ends, "MR-1");
    sched.main.done.wake();
  }
  if (next != nullptr && next->stack == s) {
    m->g = next;
    platform::forget_stack(s->low, s->usable_bytes());
    platform::reset_floating_point();
    return {true, next};
  }
  // If the stack is kept, only this machine can take it, and the machine leaves it first.
  if (!keep_stack(m, s)) m->after = {&give_left_stack, nullptr, s};
  return {false, next};
}

}  // namespace

namespace {

// The unwinder asks at each frame whether to go on; the catch in run_task stops it.
_Unwind_Reason_Code go_on(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*,
                          _Unwind_Context*, void*) {
  return _URC_NO_REASON;
}

// The end of a catch that did not rethrow: run_task's, or one of the user's, which is an error.
void forced_unwind_ended(_Unwind_Reason_Code, _Unwind_Exception*) {
  if (!this_machine()->g->extra.load_relaxed()->exit_arrived) {
    base::fatal(
        "sley: this_goroutine::exit() was swallowed by a catch (...) that does not rethrow");
  }
}

}  // namespace

void exit_arrives(goroutine* g) noexcept {
  goroutine_extra* extra = g->extra.load_relaxed();  // its own
  if (extra == nullptr || extra->exit_unwind.exception_cleanup != &forced_unwind_ended) {
    base::fatal(
        "sley: pthread_exit() or pthread_cancel() in a goroutine: the thread is not its own");
  }
  extra->exit_arrived = true;
}

void end_extra(goroutine* g) noexcept {
  // Ends when destroying values has made no new ones.
  while (goroutine_extra* extra = g->extra.load_relaxed()) {
    if (local_values* locals = std::exchange(extra->locals, nullptr)) {
      extra->destroy_locals(locals);
    } else {
      delete hide_extra(g);
    }
  }
}

void exit_goroutine() {
  goroutine* g = this_machine()->g;
  // In the record, not in this frame: the frames above it are left one by one, and their
  // destructors run over this one.
  _Unwind_Exception& unwind = extra_of(g).exit_unwind;
  unwind = {};
  unwind.exception_cleanup = &forced_unwind_ended;
  platform::before_unwind();
  _Unwind_ForcedUnwind(&unwind, &go_on, nullptr);
  base::fatal("sley: this_goroutine::exit() could not unwind the stack");
}

SLEY_BOTTOM_FRAME void goroutine_main() {
  arrive();
  continuation after;
  do {
    run_task();
    after = finish();
    if (after.on_this_stack) platform::change_strands(after.next->stack->fiber, after.next->strand);
  } while (after.on_this_stack);
  platform::context scratch;
  leave_stack(current_machine(), scratch, after.next);
}

}  // namespace sley::rt
