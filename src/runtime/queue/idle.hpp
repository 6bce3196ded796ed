// The lists of idle processors and machines, and what it takes to hold a processor. From Go's
// pidleput, pidleget, acquirep and releasep.
#pragma once

#include "runtime/state/sched_state.hpp"

namespace sley::rt {

// ---- the lists: everything here requires sched.lock ----

inline void push_idle(processor* p) noexcept {
  p->next_idle = sched.idle_processors;
  sched.idle_processors = p;
}

// Takes an idle processor into use, preferably `wanted`. Null if none is available (WG-3) or the
// scheduler is halted.
processor* pop_idle(const processor* wanted = nullptr) noexcept;

inline void push_idle_machine(machine* m) noexcept {
  m->next_idle = sched.idle_machines;
  sched.idle_machines = m;
  sched.idle_machine_count.store_relaxed(sched.idle_machine_count.load_relaxed() + 1);
}

// Takes the machine that went idle last; null if there is none.
inline machine* pop_idle_machine() noexcept {
  machine* m = sched.idle_machines;
  if (m == nullptr) return nullptr;
  sched.idle_machines = m->next_idle;
  sched.idle_machine_count.store_relaxed(sched.idle_machine_count.load_relaxed() - 1);
  return m;
}

// False if another thread has taken the machine already and is about to wake it.
inline bool remove_idle_machine(machine* m) noexcept {
  machine** link = &sched.idle_machines;
  while (*link != nullptr && *link != m) link = &(*link)->next_idle;
  if (*link == nullptr) return false;
  *link = m->next_idle;
  sched.idle_machine_count.store_relaxed(sched.idle_machine_count.load_relaxed() - 1);
  return true;
}

// ---- holding a processor ----

void acquire_p(machine* m, processor* p) noexcept;  // [inside] p is in the caller's hand
processor* release_p(machine* m) noexcept;          // the caller has the processor in hand then
// A machine without a processor takes an idle one, preferably its last. False if there is none.
[[nodiscard]] bool take_idle_p(machine* m) noexcept;

}  // namespace sley::rt
