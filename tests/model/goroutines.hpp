// For models of src/sync: they run its files themselves, on a runtime whose goroutines are the
// threads of the model (stand_ins). The lists of waiters come from src/sync/wait_list.cpp.
#pragma once

#include "model/locks.hpp"

#include "sync/wait_list.cpp"

// No model misuses anything.
inline void sley::sync::destroyed_in_use(const char*) noexcept { RL_ASSERT(false); }

namespace sley::model {

template <class Derived, unsigned Threads>
struct goroutine_suite : locking_suite<Derived, Threads> {
  goroutine_suite() {
    rt::machines = machines;
    rt::machine_count = Threads;
    rt::timers = &timers;
  }

  rt::machine machines[Threads];
  rt::timer_set timers;
};

}  // namespace sley::model
