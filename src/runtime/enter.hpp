// Entering and leaving the runtime. Inside, the thread uses runtime locks and queues, and no other
// thread may take its processor. User code runs only outside.
#pragma once

#include "base/check.hpp"
#include "runtime/machine.hpp"
#include "runtime/scheduler.hpp"

namespace sley::rt {

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

// Attends to the raised reasons of the border. Afterwards the caller is inside and, unless foreign,
// has a processor. The goroutine stays on its thread unless `may_move` is set and it is not locked.
machine* attend(machine* m, bool may_move = false) noexcept;

// May the calling thread be stopped by a signal, or lose its processor, here? If so, it must not
// take a lock of the runtime. If not, it must not call functions that take a lock of libc. Builds
// with debug checks ask whenever a lock is taken, and the tests' malloc asks too.
bool is_in_user_code() noexcept;

}  // namespace sley::rt
