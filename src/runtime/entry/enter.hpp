// Entering and leaving the runtime. Inside, the thread uses runtime locks and queues, and no other
// thread may take its processor. User code runs only outside.
#pragma once

#include "base/check.hpp"
#include "runtime/state/machine.hpp"

namespace sley::rt {

// For a thread that is unknown, that is in an announced call, or whose border has reasons to attend
// to.
machine* enter_slow() noexcept;

// Enters if that takes no more than a moment. Otherwise null, and the caller is not inside: use
// enter().
[[gnu::always_inline]] inline machine* try_enter() noexcept {
  machine* m = current_machine();
  if (__builtin_expect(m == nullptr, 0)) return nullptr;
  SLEY_DCHECK(!m->border.is_inside(), "the runtime is entered from user code only");
  if (__builtin_expect(!m->border.enter(), 0)) {
    m->border.leave();
    return nullptr;
  }
  return m;
}

inline machine* enter() noexcept {
  machine* m = try_enter();
  return __builtin_expect(m != nullptr, 1) ? m : enter_slow();
}

// The machine may have changed since enter(), because a parked goroutine may go on elsewhere.
inline void leave() noexcept { current_machine()->border.leave(); }

// For a caller that has not parked since enter().
inline void leave(machine* m) noexcept { m->border.leave(); }

// Inside for the lifetime of the object, for code that does not park.
class inside {
 public:
  inside() noexcept : m_(enter()) {}
  ~inside() { leave(m_); }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  machine* m_;
};

}  // namespace sley::rt
