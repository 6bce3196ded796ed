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

// The machine may have changed since enter(): a goroutine that parked goes on elsewhere.
inline void leave() noexcept { current_machine()->border.leave(); }

// For who did not park.
inline void leave(machine* m) noexcept { m->border.leave(); }

// The extent of something that is done inside and does not park.
class inside {
 public:
  inside() noexcept : m_(enter()) {}
  ~inside() { leave(m_); }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

 private:
  machine* m_;
};

// Sees to what the border says. The caller is inside and, unless foreign, has a processor after. It
// stays on its thread, but for `may_move`, which a locked goroutine is not moved by either.
machine* attend(machine* m, bool may_move = false) noexcept;

// May the calling thread be stopped by a signal, or do without its processor, here? Then it takes
// no lock of the runtime; else it calls nothing that takes one of libc. Builds with debug checks
// ask whenever a lock is taken; the tests' malloc asks too.
bool is_in_user_code() noexcept;

}  // namespace sley::rt
