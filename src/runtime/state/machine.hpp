// M: a thread that runs goroutines, or a thread of the program that uses the library (a foreign
// thread).
#pragma once

#include <sley/detail/atomic.hpp>

#include "base/random.hpp"
#include "parts/border.hpp"
#include "parts/note.hpp"
#include "platform/context.hpp"
#include "platform/cpu.hpp"
#include "platform/current.hpp"
#include "platform/exception_state.hpp"
#include "platform/os.hpp"
#include "platform/placement.hpp"
#include "platform/sanitizer.hpp"
#include "platform/unseen.hpp"
#include "runtime/state/goroutine.hpp"

#include <cstdint>

namespace sley::rt {

struct machine;
struct processor;
struct stack_trace;

// An action that must follow the saving of a goroutine's context. The next goroutine on the thread,
// or the machine, performs it. Until then no machine may resume the goroutine.
using after_switch_action = void (*)(goroutine* g, void* arg) noexcept;
struct after_switch {
  after_switch_action action = nullptr;
  goroutine* g = nullptr;
  void* arg = nullptr;
};

// A machine that runs its goroutine without a processor; see watchdog/detached.cpp. [sysmon]
struct detached_mark {
  machine* next = nullptr;  // link in the list of detached machines
  bool is_listed = false;
  std::int64_t cpu_ns = 0;  // the thread's CPU time when it lost its processor
};

// The goroutine sleeps in the kernel unannounced, and sysmon has taken its processor; see
// state/thread_block.hpp.
struct thread_block {
  // When the processor was taken; 0: there is no block. Relaxed: the border orders it, and sysmon's
  // look whether a block goes on may be outdated.
  detail::atomic<std::int64_t> begin_ns;
  std::uint32_t total = 0;     // [sysmon, and the ender] its number in the profile
  bool is_in_profile = false;  // [sysmon, and the ender] the profile was on when it began
};

// The time slice that sysmon has ended, and at which switch of the processor. Relaxed: raise() and
// lower() of border::preempt order it (AT-1).
struct ended_slice {
  detail::atomic<std::int64_t> from_ns;
  detail::atomic<std::uint64_t> switches;
};

// Looks without waiting that found events; see source/poll.cpp. [owner]
struct event_luck {
  std::uint32_t own = 0;     // this machine's part of sched.poller.finds
  std::uint32_t others = 0;  // the others' part when it last gave its processor up
};

// How much of a CPU the thread gets; see watchdog/reserve.cpp. [sysmon]
struct cpu_share {
  platform::cpu_times times;  // the thread's at the last look
  std::uint32_t trial = 0;    // the trial of that look
};

struct alignas(platform::cache_line_bytes) machine {
  goroutine* g = nullptr;  // [owner] the running goroutine; null on the machine's own stack
  // The held processor; null if there is none, always if foreign. [owner, or the thread that has
  // closed the border]
  processor* p = nullptr;
  parts::border border;                                    // between user code and the runtime
  after_switch after;                                      // [owner]
  platform::exception_state* thread_exceptions = nullptr;  // [const] the thread's
  // The number of reasons for which the goroutine cannot leave this thread: each os_thread_lock,
  // use of the library within blocking(), and being foreign. 0: it can.
  std::uint32_t locks = 0;     // [owner]
  bool is_searching = false;   // [owner] counted by the wake gate
  bool is_foreign = false;     // [owner]
  bool ends = false;           // [owner] the thread ends when it is back on its own stack
  bool main_returned = false;  // [owner] the function of the main goroutine, running here, returned
  bool is_interrupted = false;  // [owner] the thread waits for its turn in a signal handler

  std::uint32_t user_locks = 0;  // [owner] the part of `locks` that lock_os_thread made
  // The nesting depth of blocking() below the outermost one. [owner]
  std::uint32_t nested_calls = 0;
  // The announcement has ended before its function, because the function uses the library. Counted
  // in `locks`: the goroutine stays on its thread meanwhile. [owner]
  bool has_left_call = false;
  bool has_call_place = false;  // [owner] its announced call counts; see entry/call_places.hpp
  // Of its own stack (Go's g0), while a goroutine runs. The control words are the thread's while it
  // is on that stack: switch.hpp. [owner]
  platform::context context;
  platform::fiber_state fiber;                                 // [owner]
  [[no_unique_address]] platform::thread_variables variables;  // [const] while the thread lives
  parts::note note;              // the thread sleeps on it without work and for its turn
  processor* next_p = nullptr;   // handed over with the wake of the note; null: go on without
  processor* last_p = nullptr;   // [owner] the processor that it held last
  machine* next_idle = nullptr;  // [lock: sched.lock]
  machine* next_all = nullptr;   // [const] once it is on the list of all machines
  detached_mark detached;
  thread_block block;  // begun and ended by [owner, or sysmon with the border closed]
  ended_slice slice;   // [sysmon writes it]
  event_luck luck;
  cpu_share share;
  std::uint32_t id = 0;          // [const]
  base::random random;           // [owner] for choices that users see: select
  void* signal_stack = nullptr;  // [const] while the thread lives
  goroutine* self = nullptr;     // [const] foreign: the goroutine that stands for the thread
  // The thread's id, 0 if there is none. The thread changes it under the border's lock.
  detail::atomic<std::int32_t> thread_id;
  // Points to the number of the thread's CPU; null if the kernel does not tell. [lock: the
  // border's]
  const std::uint32_t* place = nullptr;
  // The CPU that the thread must move to, with border::moves.
  detail::atomic<std::uint32_t> move_to;  // relaxed: AT-1 orders it
  // The foreign or locked thread waits in sley to be woken. The thread sets it. The waker of a
  // foreign thread clears it, and a locked thread does so itself; see deadlock.cpp.
  detail::atomic<bool> waits;  // [atomic DL-2]
  // Where the thread must put its stack trace at the next signal; null if no thread asks.
  //   TC-1  The thread writes only to a place whose requester waits, and a requester that gives up
  //         takes the place back only if the thread has not begun: exchange_acq_rel in
  //         collect_if_asked <-> exchange_acq_rel in ask_thread. The trace's is_done publishes it.
  detail::atomic<stack_trace*> trace_to;  // [atomic TC-1]
  // The thread is in a write of sley's, which reports a broken pipe itself: ignore SIGPIPE.
  detail::atomic<bool> writes_to_pipe;  // relaxed: the handler runs on the same thread
  // A signal is on its way to the thread: sysmon sends no second one, unless signals get lost, as
  // under the thread sanitizer. Its own look and the sender's taking back are relaxed, because a
  // second signal would do no harm.
  //   TC-2  Of two signals the first handler may take the mark of both, and the second handler then
  //         does nothing. So the first one sees what both senders have asked for:
  //         exchange_acq_rel(true) in ask_thread and in interrupt <-> exchange_acq_rel(false) in
  //         on_interrupt.
  detail::atomic<bool> signalled;  // [atomic TC-2]
};

inline machine* current_machine() noexcept { return platform::current_machine(); }
// The machine also in an announced call, for code that looks at it without entering the runtime.
inline machine* this_machine() noexcept {
  machine* m = platform::current_machine();
  return m != nullptr ? m : platform::calling_machine();
}

// May the calling thread be stopped by a signal, or lose its processor, here? If so, it must not
// take a lock of the runtime. If not, it must not call functions that take a lock of libc. Builds
// with debug checks ask whenever a lock is taken, and the tests' malloc asks too.
inline bool is_in_user_code() noexcept {
  const machine* m = current_machine();
  return m != nullptr && !m->is_foreign && !m->border.is_inside();
}

// On the machine's thread, inside, after border::moves was lowered; see watchdog/cpu_spread.cpp.
inline void move_as_asked(const machine* m) noexcept {
  if (m->user_locks == 0) platform::move_this_thread(m->move_to.load_relaxed());
}

}  // namespace sley::rt
