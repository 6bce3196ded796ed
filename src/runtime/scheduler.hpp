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

// ---- blocking.cpp: calls that announce that they may block ----
// The call goes on, but its announcement is over. False: there is something to attend to. [user]
[[nodiscard]] bool leave_call(machine* m) noexcept;

// ---- boot.cpp: before the first goroutine ----
void boot() noexcept;  // any thread; once, the others wait for it

// ---- foreign.cpp: threads that the runtime did not make ----
machine* adopt_foreign_thread() noexcept;  // the calling thread gets a machine of its own
// The main goroutine on the calling thread. [user] throws std::bad_alloc
void run_here(const detail::task_type& type, void* callable);

// ---- spawn.cpp: a goroutine begins ----
// A record in status idle that has its task and id becomes a runnable goroutine. [inside]
void start(machine* m, goroutine* g) noexcept;
// Queues a runnable goroutine so that it runs next on this machine's processor. [inside]
void run_next(machine* m, goroutine* g) noexcept;
// Queues it behind those of the machine's processor. [inside] the holder of p
void run_after_those_here(processor* p, goroutine* g) noexcept;
// Queues it behind everybody. [inside, or a thread without a machine]
void run_last(goroutine* g) noexcept;

// ---- wake.cpp: which machines run ----
void wake_if_needed() noexcept;  // [inside] after work was published
void wake_p() noexcept;          // [inside] starts one searching machine, if one is wanted
// Sleeps without a processor; has one after, unless it returns that the thread is to end.
// [own stack]
[[nodiscard]] bool stop_m(machine* m) noexcept;
// It was taken from among the idle machines, and is awake. As stop_m.
[[nodiscard]] bool start_again(machine* m) noexcept;
// The machine gives its processor to the idle ones and stops searching; it must look at all queues
// once more, unless this returns that the scheduler is halted. [own stack]
[[nodiscard]] bool give_up_p(machine* m) noexcept;
// A machine without a processor takes an idle one, to search. False if there is none. [own stack]
bool take_up_search(machine* m) noexcept;

// ---- hand_off.cpp: a processor goes from one machine to another ----
void acquire_p(machine* m, processor* p) noexcept;
processor* release_p(machine* m) noexcept;  // in the caller's hand then
// Finds somebody for a processor in the caller's hand, or makes it idle. Never waits.
void hand_off_p(processor* p) noexcept;
// For who has none: takes an idle one, best the one it had before. False if there is none.
[[nodiscard]] bool take_idle_p(machine* m) noexcept;
void regain_p(machine* m, bool may_move) noexcept;  // the goroutine perhaps waits for its turn
// Is there anything that would run if this processor's goroutine stopped?
bool is_work_waiting(const processor* p) noexcept;

// ---- turn.cpp: goroutines that can't leave their thread ----
// The running goroutine waits for its next turn on its own thread. [inside]
void wait_for_turn(machine* m) noexcept;
// It waits to be made ready, likewise. [inside]
void park_thread(machine* m, wait_reason reason, void (*action)(goroutine*, void*) noexcept,
                 void* arg) noexcept;
// A foreign thread that waits in park_thread() goes on.
void wake_foreign(goroutine* g) noexcept;
// A machine has picked a goroutine whose own machine waits: that one gets the processor. [own
// stack]
void give_turn(machine* m, goroutine* g) noexcept;
bool waits_on_its_thread(const goroutine* g) noexcept;
// Those that were interrupted in user code go on without a processor.
void release_interrupted() noexcept;

// ---- schedule.cpp: the loop of a machine ----
void schedule(machine* m) noexcept;  // [own stack] returns when the thread is to end

// ---- find_runnable.cpp: what runs next ----
struct pick {
  goroutine* g;         // null: the machine ends
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
bool is_anything_queued() noexcept;

// ---- steal.cpp ----
goroutine* steal_work(machine* m, bool& ran_timers) noexcept;  // [own stack]

// ---- stacks.cpp: a goroutine gets its stack, and gives it back ----
bool bind_stack(machine* m, goroutine* g) noexcept;  // [inside] false: it waits for memory
// One that the processor has at hand. False: there is none, or it must have a size of its own.
bool bind_cached_stack(machine* m, goroutine* g) noexcept;
// For the next goroutine of this processor; the caller may still be on it. False: others wait for
// one, or it has a size of its own, so give it once it is left. [inside]
[[nodiscard]] bool keep_stack(machine* m, parts::stack* s) noexcept;
void give_stack(parts::stack* s) noexcept;  // [inside] nobody is on it
void flush_stacks(processor* p) noexcept;   // its free stacks go where all find them. [inside]
// One of those that wait for a stack tries again, if one is free. [inside, or sysmon]
void help_stackless() noexcept;

// ---- park.cpp: a goroutine waits, and goes on ----
using after_switch_action = void (*)(goroutine* g, void* arg) noexcept;
// Stops the calling goroutine until ready(). `action(g, arg)` runs once its context is saved: only
// then may it become visible to who makes it ready. [inside; perhaps on another machine after]
void park(wait_reason reason, after_switch_action action, void* arg) noexcept;
// The same; the action is to release the lock, under which its wakers find it.
void park_and_release(wait_reason reason, detail::lock& held) noexcept;
void ready(goroutine* g) noexcept;                // [inside] by the one waker that claimed it
void ready_all(goroutine_list&& woken) noexcept;  // in their order; also by sysmon
// The same, for one that has nothing to run: returns the first, if any, which nobody else is woken
// for.
goroutine* ready_all_to_run_first(goroutine_list&& woken) noexcept;  // [inside]
void ready_from_outside(goroutine* g) noexcept;  // the same, for a thread without a machine
void yield() noexcept;                           // [inside] to the back of the global queue
// The running goroutine, which has no processor, goes behind everybody and off this thread.
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
// Sleeps until there is something to run or to look for, as the poller or among the idle machines.
// False: the thread is to end. Else it has a processor. [own stack, no processor]
[[nodiscard]] bool sleep_until_needed(machine* m) noexcept;
// Without waiting. One that has become runnable, to run next; null: none. [inside]
goroutine* poll_now(machine* m) noexcept;
// There was nothing to run. True: there may be now, for a searching machine has looked a little
// longer, as events are likely. [inside]
bool look_on(machine* m) noexcept;
void poll_if_late(std::int64_t now_ns) noexcept;  // [sysmon]
// There are descriptors, and nobody waits for their events. Any thread.
bool is_poller_missing() noexcept;
// Somebody will wait for events, or look for them. [inside] by who has just stopped, or given a
// processor up, without looking for work.
void see_to_polling() noexcept;
// After arming one that is first of its heap; `never`: there is none. [inside]
void timer_armed(std::int64_t when_ns) noexcept;
std::int64_t earliest_timer() noexcept;  // of all processors; `never` if there is none

// ---- threads.cpp: where threads come from, and where they end ----
void start_template_thread() noexcept;  // at boot
// One more is to come, unless as many as `most` are on their way; close to the limit no two at the
// same time. No waiting, no lock of libc.
void request_threads(std::uint32_t most = 1) noexcept;
void retire_threads(std::uint32_t count) noexcept;  // [sysmon] as many idle ones end

// ---- sysmon.cpp, retake.cpp, preempt.cpp: nobody stalls the others ----
void start_sysmon() noexcept;  // at boot
void wake_sysmon() noexcept;   // any thread, also in a signal handler

// ---- world.cpp: the number of processors changes ----
struct procs_setting;
void make_processors(const procs_setting& setting) noexcept;  // at boot
void follow_automatic_procs() noexcept;                       // [sysmon]

// ---- deadlock.cpp ----
void look_for_deadlock() noexcept;  // [sysmon] does not return if there is one

// ---- fatal.cpp, dump.cpp ----
// In the signal handler.
void report_stack_overflow(void* address, void* stack_pointer) noexcept;
void report_uncaught_exception(_Unwind_Exception* exception) noexcept;
void dump_all(int fd) noexcept;      // every goroutine
void install_dump_hooks() noexcept;  // at boot: fatal errors and SIGQUIT

}  // namespace sley::rt
