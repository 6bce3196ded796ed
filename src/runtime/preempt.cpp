// Taking the CPU away from a goroutine that computes, at any instruction: the processor moves on,
// the goroutine stays on its thread, which waits in the signal handler. C++ code may hold malloc's
// lock or the address of a thread_local there, so it is never switched away from, as in Go; see
// Shiina et al., "Lightweight Preemptive User-Level Threads", PPoPP 2021.
//
// The handler does nothing while the thread is in the runtime, but give its stack to who dumps.
// Else it is an entry like any other: it crosses the border, and what it finds there tells what to
// do. It takes runtime locks, which is safe, for a thread outside holds none; it calls nothing in
// libc that could.
#include "runtime/preempt.hpp"

#include "platform/interrupt.hpp"
#include "platform/os.hpp"
#include "runtime/idle.hpp"
#include "runtime/options.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/stack_trace.hpp"
#include "runtime/turn.hpp"

namespace sley::rt {

namespace {

using parts::border;

// Takes itself out of the global queue again. False: somebody else has taken it out.
bool withdraw(goroutine* g) noexcept {
  return !sched.queue.extract([g](const goroutine* other) { return other == g; }).is_empty();
}

// It goes on after all.
void stay(machine* m) noexcept {
  m->g->status.transition(parts::status::runnable, parts::status::running);
  m->g->needs.and_acq_rel(static_cast<std::uint8_t>(~needs_machine), "TR-1");
  m->is_interrupted = false;
}

// Queues the goroutine as one that waits in a signal handler. False, and it is not queued, if the
// scheduler is halted: then nobody is stopped in the middle of user code, see pause.cpp.
bool queue_interrupted(machine* m) noexcept {
  goroutine* g = m->g;
  bind_to_thread(m, g);
  m->is_interrupted = true;
  g->status.transition(parts::status::running, parts::status::runnable);
  sched.queue.push_back(g);
  // pause() halts and then takes all of us out: who came too late for that sees it is halted.
  if (!sched.gate.is_halted() || !withdraw(g)) return true;
  stay(m);
  return false;
}

void wait_in_handler(machine* m) noexcept {
  const platform::interruptible_wait guard;  // it can be asked for its stack
  sleep_until_turn(m, m->g);
  m->is_interrupted = false;
}

// The thread of the goroutine first in line; null if that one has none of its own.
machine* first_in_line() noexcept {
  goroutine* g = sched.queue.pop_if(waits_on_its_thread);
  return g == nullptr ? nullptr : g->bound_to;
}

// Who gets the processor: at once the thread of who runs next, where that can be told, for without
// work of its own that is who is first in the global queue; else a machine that sleeps, which
// looks; else, without any, the thread that there is.
machine* find_heir(const processor* p) noexcept {
  if (!has_local_work(p)) {
    if (machine* owner = first_in_line()) return owner;
  }
  {
    detail::lock_guard guard(sched.lock);
    if (machine* m = pop_idle_machine()) return m;
  }
  return first_in_line();
}

void hand_to(machine* heir, processor* p) noexcept {
  if (heir == nullptr) {
    hand_off_p(p);
    return;
  }
  heir->next_p = p;
  sched.hand_offs.add_relaxed(1);
  heir->note.wake();
}

// The time slice is over. Without an heir it goes on: sysmon has asked for a thread.
void give_up_turn(machine* m) noexcept {
  m->border.lower(border::preempt);
  run_all_due_timers();
  if (!queue_interrupted(m)) return;
  machine* heir = find_heir(m->p);
  if (heir == m || (heir == nullptr && withdraw(m->g))) {
    stay(m);
    return;
  }
  begin_slice(m->p);
  hand_to(heir, release_p(m));
  sched.preemptions.add_relaxed(1);
  wait_in_handler(m);
}

// The thread sleeps in a system call, which goes on when we return; or the world is to be stopped.
void give_up_p_only(machine* m) noexcept {
  m->border.lower(border::give);
  processor* p = release_p(m);
  m->border.raise(border::lost);
  sched.new_strays.add(1);
  sched.retakes.add_relaxed(1);
  hand_off_p(p);
}

// It computes without a processor.
void wait_for_p(machine* m) noexcept {
  if (take_idle_p(m) || !queue_interrupted(m)) return;
  wake_if_needed();
  wait_in_handler(m);
}

bool on_interrupt() noexcept {
  machine* m = this_machine();
  if (m == nullptr || !m->signalled.load_relaxed()) return false;
  m->signalled.store_relaxed(false);
  if (collect_if_asked(m)) return true;
  // Inside, or in an announced call, it looks at the border when it comes out.
  if (m->is_foreign || m->border.is_inside() || m->border.call() != 0) return true;
  m->border.enter();
  const std::uint32_t reasons = m->border.wait_until_open();
  if (m->p == nullptr) {
    if (!sched.gate.is_halted()) wait_for_p(m);
  } else if ((reasons & border::give) != 0) {
    give_up_p_only(m);
  } else if ((reasons & border::preempt) != 0 && !sched.gate.is_halted()) {
    give_up_turn(m);
  }
  m->border.leave();
  return true;
}

}  // namespace

void install_preemption() noexcept { platform::install_interrupt_handler(&on_interrupt); }

namespace {

// Looks again if a look took so long that what it saw may be over: we may have lost our CPU. Where
// all take long, that is how slow the machine is.
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
  if (m->signalled.load_relaxed()) return true;
  if (!even_asleep && is_asleep(thread_id)) return false;
  m->signalled.store_relaxed(true);
  const bool is_sent = platform::interrupt_thread(thread_id);
  if (!is_sent) m->signalled.store_relaxed(false);
  return is_sent;
}

namespace {

// As find_heir, but nobody is taken out.
machine* likely_heir(const processor* p) noexcept {
  if (!has_local_work(p)) {
    machine* owner = sched.queue.look_at_first([](const goroutine* g) {
      return g != nullptr && waits_on_its_thread(g) ? g->bound_to : nullptr;
    });
    if (owner != nullptr) return owner;
  }
  detail::lock_guard guard(sched.lock);
  return sched.idle_machines;
}

}  // namespace

void nudge_heir(const processor* p) noexcept {
  const std::uint32_t busy = sched.procs.read_relaxed() - sched.gate.idle();
  const int cpus = platform::available_cpus(sched.template_thread_id.load_relaxed());
  if (busy >= static_cast<std::uint32_t>(cpus)) return;  // it would be in the way of who is to stop
  if (machine* m = likely_heir(p)) m->note.nudge();
}

// ---- machines that run a goroutine without a processor ----

namespace {

machine* strays = nullptr;          // [sysmon]
constexpr int strays_at_once = 64;  // each costs a system call
// The part of a time slice that they may use without one. Who only comes back from its call and
// enters the runtime needs less.
constexpr std::int64_t tolerated_parts = 10;

// In an announced call it may compute as long as it likes, or sleep: nobody knows when it ends, and
// the way back asks for a processor.
bool runs_without_p(const machine* m) noexcept {
  return (m->border.attention() & border::lost) != 0 && m->border.call() == 0;
}

// Those that somebody else than sysmon has sent off.
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
  if (runs_without_p(m)) interrupt(m);  // it may have got one meanwhile
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

// A batch at a time: those looked at go behind the others.
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
