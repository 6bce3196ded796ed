// The thread-local variables of the runtime: the thread's M, in one of two places. During an
// announced call of the goroutine it is in the second place. Code that enters the runtime there
// finds null in the first place and looks closer.
//
// A goroutine may be resumed on another thread, and compilers keep the address of a thread-local
// variable across calls. Therefore the variables are read and written through volatile assembly on
// the thread pointer and nothing else: each call reads anew, and no address of them exists.
#pragma once

#include <sley/detail/lock.hpp>

// SLEY_READ_THREAD_WORD(name, value) and SLEY_WRITE_THREAD_WORD(name, value): volatile assembly for
// the thread's variable of that name, which has one word. The name is a string.
#include "cpu/thread_word.hpp"

#include <cstddef>

namespace sley::rt {
struct machine;
}

extern "C" {
// Initial-exec, so that both libraries, static and shared, reach them without a call.
#define SLEY_THREAD_VARIABLE \
  extern thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))
SLEY_THREAD_VARIABLE sley::rt::machine* sley_current_machine;
SLEY_THREAD_VARIABLE sley::rt::machine* sley_calling_machine;
#undef SLEY_THREAD_VARIABLE
}

namespace sley::platform {

// The runtime's locks that the thread holds, in builds with debug checks; only the first ones if it
// holds many.
struct held_locks {
  static constexpr std::size_t most = 16;
  std::size_t count = 0;
  const detail::lock* locks[most] = {};
  detail::lock_rank ranks[most] = {};
};
// For functions in which no goroutine is resumed on another thread.
held_locks& own_held_locks() noexcept;

// Null on a thread that the runtime has not met, and in an announced call.
[[gnu::always_inline]] inline rt::machine* current_machine() noexcept {
  rt::machine* m;
  SLEY_READ_THREAD_WORD("sley_current_machine", m);
  return m;
}

[[gnu::always_inline]] inline void set_current_machine(rt::machine* m) noexcept {
  SLEY_WRITE_THREAD_WORD("sley_current_machine", m);
}

// Null outside of announced calls.
[[gnu::always_inline]] inline rt::machine* calling_machine() noexcept {
  rt::machine* m;
  SLEY_READ_THREAD_WORD("sley_calling_machine", m);
  return m;
}

[[gnu::always_inline]] inline void set_calling_machine(rt::machine* m) noexcept {
  SLEY_WRITE_THREAD_WORD("sley_calling_machine", m);
}

}  // namespace sley::platform

#undef SLEY_READ_THREAD_WORD
#undef SLEY_WRITE_THREAD_WORD
