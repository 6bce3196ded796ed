// The border between user code and the runtime has reasons to attend to.
#pragma once

#include "runtime/state/machine.hpp"

namespace sley::rt {

// Attends to the raised reasons of the border. Afterwards the caller is inside and, unless foreign,
// has a processor. The goroutine stays on its thread unless `may_move` is set and it is not locked.
machine* attend(machine* m, bool may_move = false) noexcept;

// Enters the runtime at the bottom of a goroutine's stack, where the thread is known and in no
// announced call. (Everywhere else: enter() in entry/enter.hpp.)
inline machine* enter_at_bottom() noexcept {
  machine* m = current_machine();
  return __builtin_expect(m->border.enter(), 1) ? m : attend(m);
}

}  // namespace sley::rt
