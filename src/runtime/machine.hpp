// M: a thread that runs goroutines, or a thread of the user's that uses the library (a foreign
// one).
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/random.hpp"
#include "parts/border.hpp"
#include "parts/note.hpp"
#include "platform/context.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "platform/os.hpp"
#include "platform/sanitizer.hpp"
#include "runtime/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

struct processor;
struct stack_trace;

// What must be done after a goroutine's context is saved, by whoever runs next on the thread: until
// then nobody may resume it.
struct after_switch {
  void (*action)(goroutine* g, void* arg) noexcept = nullptr;
  goroutine* g = nullptr;
  void* arg = nullptr;
};

struct alignas(64) machine {
  goroutine* g = nullptr;  // [owner] what it runs; null on its own stack
  // What it holds; null while it has none, and if foreign. [owner], or whoever has closed the
  // border
  processor* p = nullptr;
  parts::border border;                                    // between user code and the runtime
  after_switch after;                                      // [owner]
  platform::exception_state* thread_exceptions = nullptr;  // [const] this thread's
  // Why its goroutine can't leave this thread: os_thread_lock, use of the library within
  // blocking(), and for foreign threads that there is nowhere to go. 0: it can.
  std::uint32_t locks = 0;     // [owner]
  bool is_searching = false;   // [owner] counted by the wake gate
  bool is_foreign = false;     // [owner]
  bool ends = false;           // [owner] the thread ends when it is back on its own stack
  bool main_returned = false;  // [owner] its goroutine is the main one, whose function has returned
  bool is_interrupted = false;  // [owner] it waits for its turn in a signal handler

  std::uint32_t user_locks = 0;  // [owner] of `locks`, those by lock_os_thread
  // How many blocking() there are around the first one on this thread. [owner]
  std::uint32_t nested_calls = 0;
  // The announced call has ended before its function has, for that uses the library. Counted in
  // `locks`: so long the goroutine stays on its thread. [owner]
  bool has_left_call = false;
  platform::context context;       // [owner] its own stack (Go's g0), while a goroutine runs
  platform::fiber_state fiber;     // [owner]
  parts::note note;                // what it sleeps on when it has no work, or waits for its turn
  processor* next_p = nullptr;     // handed over by who wakes the note; null: go on without
  processor* last_p = nullptr;     // [owner] what it held before it lost it
  machine* next_idle = nullptr;    // [lock: sched.lock]
  machine* next_all = nullptr;     // [const] once it is on the list of all machines
  machine* next_stray = nullptr;   // [sysmon] link in its list of those who run without a processor
  bool is_stray = false;           // [sysmon]
  std::uint32_t finds = 0;         // [owner] of sched.finds, its own
  std::uint32_t seen_finds = 0;    // [owner] all of them, when it ran out of work last
  std::uint32_t others_finds = 0;  // [owner] the others', when it gave its processor up last
  std::int64_t stray_cpu_ns = 0;   // [sysmon] the thread's CPU time when it lost its processor
  platform::cpu_times seen_times;  // [sysmon] the thread's, as reserve.cpp has seen them last
  std::uint32_t seen_in_trial = 0;  // [sysmon] when that was
  std::uint32_t id = 0;             // [const]
  base::random random;              // [owner] for choices that users see: select
  void* signal_stack = nullptr;     // [const] while the thread lives
  goroutine* self = nullptr;        // [const] foreign: the goroutine that stands for the thread
  // The thread, 0 if there is none: changed under the border's lock, by the thread.
  detail::atomic<std::int32_t> thread_id;
  // Where the number of its CPU stands; null if nowhere. [lock: the border's]
  const std::uint32_t* place = nullptr;
  // The thread waits in sley for somebody to wake it, foreign or locked as it is. Set by the
  // thread, taken back by who wakes it, or by itself if it is locked; see deadlock.cpp.
  detail::atomic<bool> waits;
  // Where the thread is to put its stack trace when it gets the next signal; null: nobody asks.
  //   TC-1  The thread writes only where somebody waits for it, and who gives up asking keeps the
  //         place only if the thread has not begun: exchange_acq_rel in collect_if_asked <->
  //         exchange_acq_rel in ask_thread. That the trace is written is published by its is_done.
  detail::atomic<stack_trace*> trace_to;  // [atomic TC-1]
  // A SIGPIPE of the thread's is for a write of sley's, which reports the error.
  detail::atomic<bool> writes_to_pipe;  // relaxed: the thread itself is interrupted
  // A signal is under way to it: sysmon sends no second one.
  detail::atomic<bool> signalled;  // relaxed: a second signal would do no harm
};

inline machine* current_machine() noexcept { return platform::current_machine(); }
// Also in an announced call: for those who look at the goroutine without entering the runtime.
inline machine* this_machine() noexcept {
  machine* m = platform::current_machine();
  return m != nullptr ? m : platform::calling_machine();
}

}  // namespace sley::rt
