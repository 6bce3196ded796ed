// For models of src/sync. A goroutine that is made ready has saved its context, and is made ready
// once.
#pragma once

#include "runtime/state/goroutine.hpp"

namespace sley::rt {

inline void ready(goroutine* g) {
  RL_ASSERT(g->is_saved.get());
  g->is_saved.set(false);
  g->note.wake();
}

}  // namespace sley::rt
