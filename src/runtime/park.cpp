// How a goroutine waits and goes on: park, ready and yield. From Go's gopark, goready and Gosched.
//
// The fast path is one switch, from the parking goroutine to the next one of the same processor. An
// action that must follow the saving of the context travels in the machine's after_switch. The side
// that is switched to performs it first.
#include "runtime/enter.hpp"
#include "runtime/sched_state.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/switch.hpp"
#include "runtime/tracer.hpp"
#include "platform/os.hpp"

#include <utility>

namespace sley::rt {

namespace {

void release_lock(goroutine*, void* lock) noexcept { static_cast<detail::lock*>(lock)->release(); }

// For a yield: as if the goroutine had parked and was made ready at once.
void push_last(goroutine* g, void*) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  run_last(g);
}

// Switches away from g, which is no longer running; returns when it is resumed.
[[gnu::always_inline]] inline void switch_away(machine* m, goroutine* g, goroutine* next) noexcept {
  if (next != nullptr) {
    switch_goroutines(m, g, next);
  } else {
    switch_to_machine(m, g);
  }
}

}  // namespace

[[gnu::noinline]] void park(wait_reason reason, after_switch_action action, void* arg) noexcept {
  machine* m = current_machine();
  if (__builtin_expect(m->locks != 0, 0)) {
    park_thread(m, reason, action, arg);
    return;
  }
  goroutine* g = m->g;
  g->reason = reason;
  g->parked_s.store_relaxed(sched.coarse_s.load_relaxed());
  count(m->p->figures.parks);
  m->after = {action, g, arg};
  goroutine* next = next_local(m).g;
  if (next == nullptr && m->p->trace != nullptr) trace_end(m->p, reason);
  switch_away(m, g, next);
}

void park_and_release(wait_reason reason, detail::lock& held) noexcept {
  park(reason, &release_lock, &held);
}

void ready(goroutine* g) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  if (__builtin_expect(g->is_foreign, 0)) {
    wake_foreign(g);
    return;
  }
  run_next(current_machine(), g);
  wake_if_needed();
}

namespace {

// Wakes foreign threads, and returns the goroutines that must be queued.
goroutine_list make_runnable(goroutine_list&& woken) noexcept {
  goroutine_list batch;
  while (goroutine* g = woken.pop_front()) {
    g->status.transition(parts::status::waiting, parts::status::runnable);
    if (g->is_foreign) {
      wake_foreign(g);
    } else {
      batch.push_back(g);
    }
  }
  return batch;
}

void queue_all(goroutine_list&& runnable) noexcept {
  if (runnable.is_empty()) return;
  if (machine* m = current_machine(); m != nullptr && m->p != nullptr) {
    while (goroutine* g = runnable.pop_front()) run_after_those_here(m->p, g);
  } else {
    sched.queue.append(std::move(runnable));
  }
  wake_if_needed();
}

}  // namespace

void ready_all(goroutine_list&& woken) noexcept { queue_all(make_runnable(std::move(woken))); }

goroutine* ready_all_to_run_first(goroutine_list&& woken) noexcept {
  goroutine_list runnable = make_runnable(std::move(woken));
  goroutine* first = runnable.pop_front();
  queue_all(std::move(runnable));
  return first;
}

void ready_from_outside(goroutine* g) noexcept {
  g->status.transition(parts::status::waiting, parts::status::runnable);
  if (g->is_foreign) {
    wake_foreign(g);
  } else {
    run_last(g);
  }
}

// The goroutine passes through the global queue even if that is empty. Its processor's own queue
// comes first, as in Go. When that is empty and the goroutine would be alone in the global queue,
// queueing it and taking it is one step. Otherwise the slow path takes a batch from the global
// queue.
[[gnu::noinline]] void yield() noexcept {
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
  const local_pick next = next_local(m);
  if (next.is_idle && sched.queue.rotate_if_empty(g)) {
    begin_slice(m->p);
    return;
  }
  m->after = {&push_last, g, nullptr};
  if (next.g == nullptr && m->p->trace != nullptr) trace_end(m->p, "yielded");
  switch_away(m, g, next.g);
}

[[gnu::noinline]] void yield_without_p(machine* m) noexcept {
  m->after = {&push_last, m->g, nullptr};
  switch_to_machine(m, m->g);
}

}  // namespace sley::rt
