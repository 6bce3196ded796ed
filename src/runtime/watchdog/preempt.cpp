// Takes the CPU away from a computing goroutine at any instruction. The processor moves on. The
// goroutine stays on its thread, which waits in the signal handler. Unlike Go, the handler never
// switches away, because C++ code may hold malloc's lock or the address of a thread_local there;
// see Shiina et al., "Lightweight Preemptive User-Level Threads", PPoPP 2021.
//
// While the thread is in the runtime, the handler only answers a request for the thread's stack.
// Otherwise it is an entry like any other: it crosses the border and attends to the raised reasons.
// It may take runtime locks, because a thread outside holds none. It calls no function of libc that
// takes a lock.
#include "runtime/watchdog/preempt.hpp"

#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "platform/probes.hpp"
#include "platform/sanitizer.hpp"
#include "platform/unseen.hpp"
#include "runtime/inspect/stack_trace.hpp"
#include "runtime/queue/hand_off.hpp"
#include "runtime/queue/idle.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/source/timers.hpp"
#include "runtime/state/goroutine.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/sched_state.hpp"
#include "runtime/state/thread_block.hpp"

namespace sley::rt {

namespace {

using parts::border;

// Takes the goroutine out of the global queue again. False if another machine has taken it.
bool withdraw(goroutine* g) noexcept {
  return !sched.queue.extract_loners([g](const goroutine* other) { return other == g; }).is_empty();
}

// The goroutine goes on after all.
void stay(machine* m) noexcept {
  m->g->status.transition(parts::status::runnable, parts::status::running);
  m->g->needs.and_acq_rel(static_cast<std::uint8_t>(~needs_machine), "TR-1");
  if (is_timed(m->g)) end_measured_wait(nullptr, m->g);
  m->is_interrupted = false;
}

// Queues the goroutine, whose thread will wait in the signal handler. False, and it is not queued,
// if the scheduler is halted: then no goroutine is stopped in the middle of user code, see
// pause.cpp.
bool queue_interrupted(machine* m) noexcept {
  goroutine* g = m->g;
  bind_to_thread(m, g);
  m->is_interrupted = true;
  note_leave(m, g);
  g->status.transition(parts::status::running, parts::status::runnable);
  sched.queue.push_back(g);
  // pause() halts the gate and then extracts all interrupted goroutines. A goroutine that was
  // queued too late for that sees the halt here.
  if (!sched.gate.is_halted() || !withdraw(g)) return true;
  stay(m);
  return false;
}

void wait_in_handler(machine* m) noexcept {
  const platform::interruptible_wait guard;  // the thread can be asked for its stack
  sleep_until_turn(m, m->g);
  m->is_interrupted = false;
}

// The machine of the first goroutine in the global queue, if that goroutine waits on its own
// thread; else null. The goroutine is taken out of the queue.
machine* first_in_line() noexcept {
  goroutine* g = sched.queue.pop_if_loner(sched.procs.read());
  return g == nullptr ? nullptr : g->bound_to;
}

// Picks the machine that takes over p: (1) if p has no work of its own and the first goroutine of
// the global queue waits on its own thread, that thread; (2) an idle machine, which will search;
// (3) the first goroutine's thread, if it waits on one. Null if there is none.
machine* find_successor(const processor* p) noexcept {
  if (!has_own_work(p)) {
    if (machine* owner = first_in_line()) return owner;
  }
  {
    detail::lock_guard guard(sched.lock);
    if (machine* m = pop_idle_machine()) return m;
  }
  return first_in_line();
}

void hand_to(machine* successor, processor* p) noexcept {
  if (successor == nullptr) {
    hand_off_p(p);
    return;
  }
  successor->next_p = p;
  sched.hand_offs.add_relaxed(1);
  successor->note.wake();
}

// The time slice is over. Without an successor the goroutine goes on; sysmon has requested a
// thread.
void end_slice(machine* m) noexcept {
  m->border.lower(border::preempt);
  run_all_due_timers();
  if (!queue_interrupted(m)) return;
  machine* successor = find_successor(m->p);
  if (successor == m || (successor == nullptr && withdraw(m->g))) {
    stay(m);
    return;
  }
  const std::int64_t used_ns = used_slice_ns(m);
  begin_slice(m->p);
  platform::probe_preempt(m->g->id);
  hand_to(successor, release_p(m));
  sched.preemptions.add_relaxed(1);
  note_preemption(used_ns);
  wait_in_handler(m);
}

// The thread sleeps in a system call, which goes on when the handler returns; or the world must
// stop.
void give_up_p_only(machine* m) noexcept {
  m->border.lower(border::give);
  platform::probe_retake(m->g->id);
  processor* p = release_p(m);
  m->border.raise(border::lost);
  sched.sysmon.new_detached.add(1);
  sched.retakes.add_relaxed(1);
  hand_off_p(p);
}

// The goroutine computes without a processor.
void wait_for_p(machine* m) noexcept {
  if (take_idle_p(m) || !queue_interrupted(m)) return;
  wake_if_needed();
  wait_in_handler(m);
}

bool on_interrupt() noexcept {
  const platform::unseen unseen;
  machine* m = this_machine();
  if (m == nullptr || !m->signalled.exchange_acq_rel(false, "TC-2")) return false;
  if (collect_if_asked(m)) return true;
  // Inside, or in an announced call, the thread looks at its border when it comes out.
  if (m->is_foreign || m->border.is_inside() || m->border.call() != 0) return true;
  m->border.enter();
  const std::uint32_t reasons = m->border.wait_until_open();
  if ((reasons & border::moves) != 0) {
    m->border.lower(border::moves);
    move_as_asked(m);
  }
  if (m->p == nullptr) {
    end_thread_block(m);
    if (!sched.gate.is_halted()) wait_for_p(m);
  } else if ((reasons & border::give) != 0) {
    give_up_p_only(m);
  } else if ((reasons & border::preempt) != 0 && !sched.gate.is_halted()) {
    end_slice(m);
  }
  m->border.leave();
  return true;
}

}  // namespace

void install_preemption() noexcept { platform::install_interrupt_handler(&on_interrupt); }

namespace {

// Looks again if a look was slow, because sysmon may have lost its CPU meanwhile and the answer may
// be outdated. If every look is slow, so is the computer.
bool is_asleep(std::int32_t thread_id) noexcept {
  constexpr std::int64_t quick_ns = 100'000;
  for (int look = 0; look < 4; ++look) {
    const std::int64_t begin_ns = platform::now_ns();
    if (platform::is_thread_asleep(thread_id)) return true;
    if (platform::now_ns() - begin_ns < quick_ns) return false;
  }
  return false;
}

}  // namespace

bool interrupt(machine* m, bool even_asleep) noexcept {
  detail::lock_guard guard(m->border.guard());
  const std::int32_t thread_id = m->thread_id.load_relaxed();  // changed under the guard
  if (thread_id == 0) return false;
  if (platform::sanitizer_delivers_signals && m->signalled.load_relaxed()) return true;
  if (!even_asleep && is_asleep(thread_id)) return false;
  m->signalled.exchange_acq_rel(true, "TC-2");
  const bool is_sent = platform::interrupt_thread(thread_id);
  if (!is_sent) m->signalled.store_relaxed(false);
  return is_sent;
}

namespace {

// As find_successor, but takes nothing out of any list.
machine* likely_successor(const processor* p) noexcept {
  if (!has_own_work(p)) {
    machine* owner = sched.queue.look_at_first_loner(
        [](const goroutine* g) { return g == nullptr ? nullptr : g->bound_to; });
    if (owner != nullptr) return owner;
  }
  detail::lock_guard guard(sched.lock);
  return sched.idle_machines;
}

}  // namespace

void nudge_successor(const processor* p) noexcept {
  const std::uint32_t busy = sched.procs.read_relaxed() - sched.gate.idle();
  const int cpus = platform::available_cpus(sched.threads.template_id.load_relaxed());
  if (busy >= static_cast<std::uint32_t>(cpus)) return;  // it would take the goroutine's CPU
  if (machine* m = likely_successor(p)) m->note.nudge();
}

}  // namespace sley::rt
