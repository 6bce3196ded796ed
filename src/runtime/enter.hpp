// In and out of the runtime. Between the two the thread holds runtime locks and queues, and nothing
// may take its processor away; user code runs only outside.
#pragma once

#include "base/check.hpp"
#include "runtime/machine.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

machine* enter_slow() noexcept;

// Null, and the caller is not inside, if that takes more than a moment: then enter() does it.
[[gnu::always_inline]] inline machine* try_enter() noexcept {
  machine* m = current_machine();
  if (__builtin_expect(m == nullptr || m->attention.load_relaxed(), 0)) return nullptr;
  SLEY_DCHECK(m->in_runtime.load_relaxed() == 0, "the runtime is entered from user code only");
  m->in_runtime.store_relaxed(1);  // read by this thread only, and by signal handlers on it
  return m;
}

inline machine* enter() noexcept {
  machine* m = try_enter();
  return __builtin_expect(m != nullptr, 1) ? m : enter_slow();
}

// The machine may have changed since enter(): a goroutine that parked goes on elsewhere.
inline void leave() noexcept { current_machine()->in_runtime.store_relaxed(0); }

// For who did not park.
inline void leave(machine* m) noexcept { m->in_runtime.store_relaxed(0); }

}  // namespace sley::rt
