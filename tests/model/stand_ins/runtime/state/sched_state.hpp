// For models of src/sync: the processors belong to the machines.
#pragma once

#include "runtime/state/goroutine.hpp"

namespace sley::rt {

struct sched_state {
  struct {
    bool is_halted() const { return false; }
  } gate;
  struct {
    std::uint32_t read() const { return machine_count; }
  } made_procs;
  struct {
    processor& operator[](std::uint32_t i) const { return machines[i].permit; }
  } processors;
};

inline sched_state sched;

}  // namespace sley::rt
