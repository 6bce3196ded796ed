// M: a thread that runs goroutines, or a thread of the user's that uses the library (a foreign
// one).
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/random.hpp"
#include "parts/note.hpp"
#include "platform/context.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

struct processor;

// What must be done after a goroutine's context is saved, by whoever runs next on the thread: until
// then nobody may resume it.
struct after_switch {
  void (*action)(goroutine* g, void* arg) noexcept = nullptr;
  goroutine* g = nullptr;
  void* arg = nullptr;
};

struct alignas(64) machine {
  goroutine* g = nullptr;  // [owner] what it runs; null on its own stack
  processor* p = nullptr;  // [owner] what it holds; null while it has none, and if foreign
  after_switch after;      // [owner]
  platform::exception_state* thread_exceptions = nullptr;  // [const] this thread's
  // Non-zero while the thread is in the runtime, where nothing may interrupt it.
  detail::atomic<std::uint32_t> in_runtime;  // written by the thread alone
  // Somebody wants the thread to stop running goroutines when it next enters the runtime.
  //   AT-1  exchange_acq_rel in pause <-> exchange_acq_rel in attend and find_runnable; the hint
  //         that leads there is a relaxed load.
  detail::atomic<bool> attention;  // [atomic AT-1]
  bool is_searching = false;       // [owner] counted by the wake gate
  bool is_foreign = false;         // [const]

  platform::context context;     // [owner] its own stack (Go's g0), while a goroutine runs
  platform::fiber_state fiber;   // [owner]
  parts::note note;              // what it sleeps on when it has no work
  processor* next_p = nullptr;   // handed over by who wakes the note
  machine* next_idle = nullptr;  // [lock: sched.lock]
  machine* next_all = nullptr;   // [const] once it is on the list of all machines
  std::uint32_t id = 0;          // [const]
  base::random random;           // [owner] for choices that users see: select
  goroutine* self = nullptr;     // [const] foreign: the goroutine that stands for the thread
};

inline machine* current_machine() noexcept { return platform::current_machine(); }

}  // namespace sley::rt
