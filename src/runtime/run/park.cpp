// How a goroutine waits and goes on: park, ready and yield. From Go's gopark, goready and Gosched.
//
// The fast path is one switch, from the parking goroutine to the next one of the same processor. An
// action that must follow the saving of the context travels in the machine's after_switch. The side
// that is switched to performs it first.
#include "runtime/run/park.hpp"

#include "platform/decisions.hpp"
#include "platform/os.hpp"
#include "platform/probes.hpp"
#include "platform/unseen.hpp"
#include "runtime/queue/ready.hpp"
#include "runtime/queue/wake.hpp"
#include "runtime/run/switch.hpp"
#include "runtime/run/turn.hpp"
#include "runtime/source/next_local.hpp"
#include "runtime/state/contention.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/processor.hpp"
#include "runtime/state/run_trace.hpp"
#include "runtime/state/sched_state.hpp"

#include <utility>

namespace sley::rt {

namespace {

void release_lock(goroutine*, void* lock) noexcept { static_cast<detail::lock*>(lock)->release(); }

// For a yield: as if the goroutine had parked and was made ready at once.
void push_last(goroutine* g, void*) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  run_last(g);
}

// The same where there is one processor. No other machine can be woken for it.
void push_last_held(goroutine* g, void*) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  sched.queue.push_back_held(g);
}

// The same, where the goroutine stays with its processor.
void push_last_here(goroutine* g, void*) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  run_after_those_here(current_machine()->p, g);
  wake_if_needed();
}

// May a yield leave the global queue out, where there are several processors? Not while more than a
// few goroutines wait in the global queue, because they came first, unless turns are short and the
// processor's own queue has room for its share of them. One turn of a processor in fairness_tick
// passes through the global queue nevertheless, so all goroutines that yield get an equal share of
// the CPUs.
bool stays_on_yield(processor* p, std::uint32_t procs) noexcept {
  if (p->tick.load_relaxed() % fairness_tick == 0) return false;
  const std::size_t waiting = sched.queue.size();
  return waiting < procs || (waiting < most_admitted * procs && admit_share(p));
}

// At one processor the order of turns is Go's: after the goroutines that the others start, too.
after_switch_action way_to_queue(processor* p) noexcept {
  const std::uint32_t procs = sched.procs.read();
  if (procs == 1) return &push_last_held;
  return stays_on_yield(p, procs) ? &push_last_here : &push_last;
}

// Switches away from g, which is no longer running; returns when it is resumed.
[[gnu::always_inline]] inline void switch_away(machine* m, goroutine* g, goroutine* next) noexcept {
  if (next != nullptr) {
    switch_goroutines(m, g, next);
  } else {
    switch_to_machine(m, g);
  }
}

// Returns the goroutine.
[[gnu::always_inline]] inline const goroutine* park_unseen(wait reason, const void* object,
                                                           after_switch_action action,
                                                           void* arg) noexcept {
  const platform::unseen unseen;
  machine* m = current_machine();
  goroutine* g = m->g;
  if (__builtin_expect(m->locks != 0, 0)) {
    park_thread(m, reason, object, action, arg);
    return g;
  }
  platform::probe_park(g->id, static_cast<std::uint8_t>(reason), object);
  g->reason = reason;
  g->waits_for = object;
  g->parked_s.store_relaxed(sched.coarse_s.load_relaxed());
  count(m->p->figures.parks);
  m->after = {action, g, arg};
  goroutine* next = next_local(m, departure::parks).g;
  if (next == nullptr) count_leave(m->p, g, departure::parks);
  switch_away(m, g, next);
  return g;
}

[[gnu::always_inline]] inline void park_now(wait reason, const void* object,
                                            after_switch_action action, void* arg) noexcept {
  platform::passes_order_to_thread();
  platform::takes_order(&park_unseen(reason, object, action, arg)->strand);
}

// While the block profile is on. From Go's blockevent, but the delay ends when the goroutine runs.
[[gnu::noinline]] void park_and_note(wait reason, const void* object, after_switch_action action,
                                     void* arg) noexcept {
  const std::int64_t begin_ns = platform::now_ns();
  park_now(reason, object, action, arg);
  if (is_for_others(reason)) note_wait(platform::now_ns() - begin_ns);
}

}  // namespace

[[gnu::noinline]] void park(wait reason, const void* object, after_switch_action action,
                            void* arg) noexcept {
  if (__builtin_expect(block_profile.is_on(), 0)) return park_and_note(reason, object, action, arg);
  park_now(reason, object, action, arg);
}

void park_and_release(wait reason, const void* object, detail::lock& held) noexcept {
  platform::passes_order(&held);
  park(reason, object, &release_lock, &held);
}

// The goroutine passes through the global queue, as in Go, or goes to the end of its processor's
// own queue where that makes no difference to a program. Its processor's own queue comes first.
// When that is empty and the goroutine would be alone in the global queue, it goes on at once.
// Otherwise the slow path takes a batch from the global queue.
[[gnu::noinline]] void yield() noexcept {
  platform::passes_order_to_thread();
  const platform::unseen unseen;
  machine* m = current_machine();
  goroutine* g = m->g;
  if (__builtin_expect(m->locks != 0, 0)) {
    if (m->is_foreign) {
      platform::yield_thread();
    } else {
      wait_for_turn(m);
    }
    return;
  }
  const local_pick next = next_local(m, departure::yields);
  if (next.is_idle && sched.queue.is_empty()) {
    begin_slice(m->p);
    if (m->p->trace != nullptr) trace_yield_alone(m->p, g);
    return;
  }
  m->after = {way_to_queue(m->p), g, nullptr};
  if (next.g == nullptr) count_leave(m->p, g, departure::yields);
  switch_away(m, g, next.g);
}

[[gnu::noinline]] void yield_without_p(machine* m) noexcept {
  leave_without_p(m, m->g);
  m->after = {&push_last, m->g, nullptr};
  switch_to_machine(m, m->g);
}

}  // namespace sley::rt
