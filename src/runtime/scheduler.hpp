// The scheduler's table of contents: its verbs in the order of a goroutine's life, each with the
// file that defines it. What they promise is said here; how, there.
//
// Where they may be called: [user] from user code, they enter the runtime themselves; [inside]
// between enter() and leave(); [own stack] on a machine's own stack. All are noexcept unless they
// say so, and none allocates through malloc.
#pragma once

#include <sley/detail/lock.hpp>
#include <sley/detail/spawn.hpp>

#include "runtime/goroutine.hpp"
#include "runtime/machine.hpp"
#include "runtime/processor.hpp"
#include "runtime/wait_reason.hpp"

#include <cstdint>

namespace sley::rt {

// ---- enter.hpp, enter.cpp: in and out of the runtime ----
machine* enter() noexcept;
void leave() noexcept;

// ---- boot.cpp: before the first goroutine ----
void boot() noexcept;  // any thread; once, the others wait for it

// ---- foreign.cpp: threads that the runtime did not make ----
machine* adopt_foreign_thread() noexcept;  // the calling thread gets a machine of its own

// ---- spawn.cpp: a goroutine begins ----
// A record in status idle that has its task and id becomes a runnable goroutine. [inside]
void start(machine* m, goroutine* g) noexcept;
// Queues a runnable goroutine so that it runs next on this machine's processor. [inside]
void run_next(machine* m, goroutine* g) noexcept;
// Queues it behind everybody. [inside]
void run_last(goroutine* g) noexcept;

// ---- wake.cpp: which machines run ----
void wake_if_needed() noexcept;    // [inside] after work was published
void wake_p() noexcept;            // [inside] starts one searching machine, if one is wanted
void stop_m(machine* m) noexcept;  // [own stack] sleeps without a processor; has one after
// The machine gives its processor to the idle ones and stops searching; it must look at all queues
// once more, unless this returns that the runtime is paused. [own stack]
[[nodiscard]] bool give_up_p(machine* m) noexcept;
// A machine without a processor takes an idle one, to search. False if there is none. [own stack]
bool take_up_search(machine* m) noexcept;

// ---- schedule.cpp: the loop of a machine ----
[[noreturn]] void schedule(machine* m) noexcept;  // [own stack]

// ---- find_runnable.cpp: what runs next ----
struct pick {
  goroutine* g;
  bool inherits_slice;  // it goes on in the time slice of the one before
};
pick find_runnable(machine* m) noexcept;  // [own stack] waits until there is something
// The fast way. Without a goroutine: nothing is queued here (`is_idle`), or there is other
// business, and the slow way must be gone. A goroutine that has not begun yet gets `warm`, if that
// is given and of the right size, instead of a stack from the pool. [inside]
struct local_pick {
  goroutine* g;
  bool is_idle;
};
local_pick next_local(machine* m, parts::stack* warm = nullptr) noexcept;

// ---- steal.cpp ----
goroutine* steal_work(machine* m, bool& ran_timers) noexcept;  // [own stack]

// ---- stacks.cpp: a goroutine gets its stack, and gives it back ----
bool bind_stack(machine* m, goroutine* g) noexcept;     // [inside] false: it waits for memory
void give_stack(machine* m, parts::stack* s) noexcept;  // [inside]

// ---- park.cpp: a goroutine waits, and goes on ----
using after_switch_action = void (*)(goroutine* g, void* arg) noexcept;
// Stops the calling goroutine until ready(). `action(g, arg)` runs once its context is saved: only
// then may it become visible to who makes it ready. [inside; perhaps on another machine after]
void park(wait_reason reason, after_switch_action action, void* arg) noexcept;
// The same; the action is to release the lock, under which its wakers find it.
void park_and_release(wait_reason reason, detail::lock& held) noexcept;
void ready(goroutine* g) noexcept;  // [inside] by the one waker that claimed it
void yield() noexcept;              // [inside] to the back of the global queue

// ---- exit.cpp: a goroutine ends ----
[[noreturn]] void goroutine_main();  // the bottom of every goroutine's stack
[[noreturn]] void
exit_goroutine();  // [user] unwinds the stack; throws std::bad_alloc before it begins

// ---- sleep.cpp ----
void sleep_until(std::int64_t when_ns);  // [user] throws std::bad_alloc

// ---- pause.cpp: between one run() and the next ----
void pause() noexcept;   // [inside] machines stop when they next enter the runtime
void resume() noexcept;  // [inside]

// ---- poll.cpp: waiting for the next timer ----
bool wait_for_timers(
    machine* m) noexcept;  // [own stack, no processor] true: it has one now, and searches
void timer_armed(
    std::int64_t when_ns) noexcept;  // [inside] after arming one that is first of its heap

// ---- fatal.cpp ----
void report_stack_overflow(void* address) noexcept;  // in the signal handler
void report_uncaught_exception(_Unwind_Exception* exception) noexcept;

}  // namespace sley::rt
