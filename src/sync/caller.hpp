// The caller, for locks that know their owner.
#pragma once

#include "runtime/entry/enter.hpp"

namespace sley::sync {

// The goroutine's record, or the one that stands for a foreign thread.
inline rt::goroutine* caller() noexcept {
  if (const rt::machine* m = rt::this_machine(); m != nullptr) return m->g;
  rt::machine* m = rt::enter();
  rt::goroutine* g = m->g;
  rt::leave(m);
  return g;
}

}  // namespace sley::sync
