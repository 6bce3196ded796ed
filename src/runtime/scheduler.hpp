// The scheduler's table of contents: its verbs in the order of a goroutine's life, each with the
// file that defines it. This header states a verb's promises; the file shows how it keeps them.
//
// Allowed callers: [user] user code, the verb enters the runtime itself; [inside] between enter()
// and leave(); [own stack] a machine on its own stack. All are noexcept unless they say otherwise,
// and none calls malloc.
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

// ---- blocking.cpp: calls that announce that they may block ----
// Ends the announcement while the call goes on. False: the border has reasons to attend to. [user]
[[nodiscard]] bool leave_call(machine* m) noexcept;

// ---- boot.cpp: before the first goroutine ----
void boot() noexcept;  // any thread; runs once, and other callers wait for it

// ---- foreign.cpp: threads that the runtime did not make ----
machine* adopt_foreign_thread() noexcept;  // gives the calling thread a machine of its own
// Runs the main goroutine on the calling thread. [user] Throws std::bad_alloc.
void run_here(const detail::task_type& type, void* callable);

// ---- spawn.cpp: a goroutine begins ----
// Makes a record in status idle, with its task and id, a runnable goroutine. [inside]
void start(machine* m, goroutine* g) noexcept;
// Queues a runnable goroutine so that it runs next on this machine's processor. [inside]
void run_next(machine* m, goroutine* g) noexcept;
// Queues a runnable goroutine at the end of p's queue. [inside] by the holder of p
void run_after_those_here(processor* p, goroutine* g) noexcept;
// Queues a runnable goroutine at the end of the global queue. [inside, or without a machine]
void run_last(goroutine* g) noexcept;

// ---- wake.cpp: which machines run ----
void wake_if_needed() noexcept;  // [inside] after publishing work
void wake_p() noexcept;          // [inside] starts one searching machine, if one is wanted
// Puts the machine to sleep until it has a processor. False: the thread must end. [own stack]
[[nodiscard]] bool stop_m(machine* m) noexcept;
// As stop_m, for a machine that was taken from the idle ones and is awake.
[[nodiscard]] bool start_again(machine* m) noexcept;
// Makes the machine's processor idle and stops its search. The machine must look at all queues once
// more, unless this returns true: the scheduler is halted. [own stack]
[[nodiscard]] bool give_up_p(machine* m) noexcept;
// A machine without a processor takes an idle one and searches. False if there is none. [own stack]
bool take_up_search(machine* m) noexcept;

// ---- hand_off.cpp: a processor goes from one machine to another ----
void acquire_p(machine* m, processor* p) noexcept;
processor* release_p(machine* m) noexcept;  // the caller has the processor in hand then
// Gives a processor in the caller's hand to an idle machine, or makes it idle. Never waits.
void hand_off_p(processor* p) noexcept;
// A machine without a processor takes an idle one, preferably its last. False if there is none.
[[nodiscard]] bool take_idle_p(machine* m) noexcept;
// Gets a processor for a machine that has lost its own. Its goroutine may have to wait for its
// turn.
void regain_p(machine* m, bool may_move) noexcept;
// Would another goroutine run if this processor's goroutine stopped?
bool is_work_waiting(const processor* p) noexcept;

// ---- turn.cpp: goroutines that cannot leave their thread ----
// The running goroutine waits for its next turn on its own thread. [inside]
void wait_for_turn(machine* m) noexcept;
// The running goroutine parks on its own thread. [inside]
void park_thread(machine* m, wait_reason reason, void (*action)(goroutine*, void*) noexcept,
                 void* arg) noexcept;
// Wakes a foreign thread from park_thread().
void wake_foreign(goroutine* g) noexcept;
// A machine has picked a goroutine whose own machine waits: hands its processor to that machine.
// [own stack]
void give_turn(machine* m, goroutine* g) noexcept;
bool waits_on_its_thread(const goroutine* g) noexcept;
// Lets goroutines that were interrupted in user code go on without a processor.
void release_interrupted() noexcept;

// ---- schedule.cpp: the loop of a machine ----
void schedule(machine* m) noexcept;  // [own stack] returns when the thread must end

// ---- find_runnable.cpp: what runs next ----
struct pick {
  goroutine* g;         // null: the machine ends
  bool inherits_slice;  // the goroutine runs in the time slice of the one before it
};
pick find_runnable(machine* m) noexcept;  // [own stack] waits until there is a goroutine to run
// The fast path. If the goroutine is null, the local queues are empty (`is_idle`) or something
// needs attention; the caller must take the slow path. A goroutine that has not begun gets `warm`,
// if it is given and of the right size, instead of a stack from the pool. [inside]
struct local_pick {
  goroutine* g;
  bool is_idle;
};
local_pick next_local(machine* m, parts::stack* warm = nullptr) noexcept;
bool is_anything_queued() noexcept;

// ---- steal.cpp ----
goroutine* steal_work(machine* m, bool& ran_timers) noexcept;  // [own stack]

// ---- stacks.cpp: a goroutine gets its stack, and gives it back ----
bool bind_stack(machine* m, goroutine* g) noexcept;  // [inside] false: g waits for memory
// Binds a stack from the processor's cache. False if the cache is empty or g needs another size.
bool bind_cached_stack(machine* m, goroutine* g) noexcept;
// Keeps s for the next goroutine of this processor; the caller may still be on s. False if
// goroutines wait for a stack or s has a size of its own: give_stack() it after leaving it.
// [inside]
[[nodiscard]] bool keep_stack(machine* m, parts::stack* s) noexcept;
void give_stack(parts::stack* s) noexcept;  // [inside] no thread is on s
void flush_stacks(processor* p) noexcept;   // moves p's free stacks to the shared pool. [inside]
// Makes one goroutine that waits for a stack runnable, if a stack is free. [inside, or sysmon]
void help_stackless() noexcept;

// ---- park.cpp: a goroutine waits, and goes on ----
using after_switch_action = void (*)(goroutine* g, void* arg) noexcept;
// Stops the calling goroutine until ready(). `action(g, arg)` runs after the context is saved; only
// then may a waker see the goroutine. [inside; it may return on another machine]
void park(wait_reason reason, after_switch_action action, void* arg) noexcept;
// As park(); the action releases the lock under which wakers find the goroutine.
void park_and_release(wait_reason reason, detail::lock& held) noexcept;
void ready(goroutine* g) noexcept;                // [inside] by the one waker that claimed it
void ready_all(goroutine_list&& woken) noexcept;  // in their order; also by sysmon
// As ready_all(), for a machine that has nothing to run: returns the first goroutine, for which no
// other machine is woken, or null.
goroutine* ready_all_to_run_first(goroutine_list&& woken) noexcept;  // [inside]
void ready_from_outside(goroutine* g) noexcept;  // as ready(), for a thread without a machine
void yield() noexcept;                           // [inside] to the end of the global queue
// The running goroutine has no processor: it leaves this thread for the end of the global queue.
void yield_without_p(machine* m) noexcept;  // [inside]

// ---- exit.cpp: a goroutine ends ----
[[noreturn]] void goroutine_main();  // the bottom of every goroutine's stack
[[noreturn]] void
exit_goroutine();  // [user] unwinds the stack; throws std::bad_alloc before it begins

// ---- sleep.cpp ----
void sleep_until(std::int64_t when_ns);  // [user] throws std::bad_alloc

// ---- pause.cpp: between one run() and the next ----
void pause() noexcept;   // [inside] machines stop when they next enter the runtime
void resume() noexcept;  // [inside]

// ---- poll.cpp: waiting for events and the next timer ----
// Sleeps until the machine is needed, as the poller or among the idle machines. True: the machine
// has a processor. False: the thread must end. [own stack, no processor]
[[nodiscard]] bool sleep_until_needed(machine* m) noexcept;
// Polls without waiting. Returns a goroutine to run next, or null. [inside]
goroutine* poll_now(machine* m) noexcept;
// A searching machine that found nothing polls a little longer if events are likely. True: there
// may be something to run now. [inside]
bool look_on(machine* m) noexcept;
void poll_if_late(std::int64_t now_ns) noexcept;  // [sysmon]
// Descriptors are watched and no machine is the poller. Any thread.
bool is_poller_missing() noexcept;
// Ensures that a machine polls. [inside] by a thread that has stopped, or given a processor up,
// without looking for work.
void see_to_polling() noexcept;
// After arming the first timer of a heap; `never`: no timer. [inside]
void timer_armed(std::int64_t when_ns) noexcept;
std::int64_t earliest_timer() noexcept;  // of all processors; `never` if there is none

// ---- threads.cpp: where threads come from, and where they end ----
void start_template_thread() noexcept;  // at boot
// Requests one more thread, unless `most` are already requested; near the thread limit one at a
// time. Neither waits nor takes a lock of libc.
void request_threads(std::uint32_t most = 1) noexcept;
void retire_threads(std::uint32_t count) noexcept;  // [sysmon] ends this many idle threads

// ---- sysmon.cpp, retake.cpp, preempt.cpp: no goroutine stalls the others ----
void start_sysmon() noexcept;  // at boot
void wake_sysmon() noexcept;   // any thread, also in a signal handler

// ---- world.cpp: the number of processors changes ----
struct procs_setting;
void make_processors(const procs_setting& setting) noexcept;  // at boot
void follow_automatic_procs() noexcept;                       // [sysmon]

// ---- deadlock.cpp ----
void look_for_deadlock() noexcept;  // [sysmon] does not return if there is one

// ---- main_exception.cpp: an exception leaves the main goroutine ----
// Returns if the caller of run() catches it; else it is reported and std::terminate() called.
void end_unless_caught(_Unwind_Exception* exception) noexcept;
// By the thread in run(): sleeps until the main goroutine has ended.
void sleep_in_run() noexcept;

// ---- fatal.cpp, dump.cpp ----
// In the signal handler.
void report_stack_overflow(void* address, void* stack_pointer) noexcept;
void report_uncaught_exception(_Unwind_Exception* exception) noexcept;
// std::terminate() has been called in a goroutine.
void report_termination() noexcept;
void dump_all(int fd) noexcept;      // every goroutine
void install_dump_hooks() noexcept;  // at boot: fatal errors and SIGQUIT

}  // namespace sley::rt
