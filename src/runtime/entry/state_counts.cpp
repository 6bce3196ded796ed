#include "runtime/entry/state_counts.hpp"

#include "base/peek.hpp"
#include "runtime/state/machine.hpp"
#include "runtime/state/sched_state.hpp"

namespace sley::rt {

using base::peek;

state_counts count_by_state() noexcept {
  state_counts counts;
  for (const machine* m : sched.machines) {
    const goroutine* g = peek(m->g);
    if (g == nullptr || g->is_foreign || g->status.get() != parts::status::running) continue;
    const bool has_lost_its_p = peek(m->p) == nullptr && m->border.is_outside();
    ++(m->border.call() != 0 || has_lost_its_p ? counts.in_calls : counts.running);
  }
  return counts;
}

}  // namespace sley::rt
