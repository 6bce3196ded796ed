// The lists of idle processors and machines. Everything here requires sched.lock.
#pragma once

#include "runtime/sched_state.hpp"

namespace sley::rt {

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

}  // namespace sley::rt
