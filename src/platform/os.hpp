// Sley's demands on the operating system, as contracts. Each function states its needs and its
// promises; nothing here knows of goroutines. None of them allocates or takes a lock of libc unless
// it says so, so the runtime may call them with its own locks held.
#pragma once

#include "platform/cpu.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sley::platform {

// ---- time ----

// Nanoseconds of CLOCK_MONOTONIC, the clock of std::chrono::steady_clock; never goes back. ~25 ns.
std::int64_t monotonic_ns() noexcept;

// A counter that runs with the CPU; only its differences mean something, and only roughly. ~8 ns.
// It gives a rough time since an event, to decide whether monotonic_ns() is worth its price.
#ifdef SLEY_SIMULATION
inline std::uint64_t cycle_counter() noexcept { return static_cast<std::uint64_t>(monotonic_ns()); }
inline constexpr bool is_simulation = true;
#else
inline std::uint64_t cycle_counter() noexcept { return read_cycle_counter(); }
inline constexpr bool is_simulation = false;  // one thread plays all others
#endif

// Blocks the thread until `when_ns`, or for at least `ns`, also when signals come.
void sleep_until_ns(std::int64_t when_ns) noexcept;
void sleep_ns(std::int64_t ns) noexcept;

// sched_yield(2).
void yield_thread() noexcept;

// ---- futex ----

// Blocks while *word == expected, until woken, or until CLOCK_MONOTONIC reaches deadline_ns
// (INT64_MAX: no deadline). May return at any time without reason: callers check the word again.
void futex_wait(std::uint32_t* word, std::uint32_t expected, std::int64_t deadline_ns) noexcept;

// Wakes up to `count` threads that wait on the word.
void futex_wake(std::uint32_t* word, int count) noexcept;

// ---- threads ----

// Starts a detached thread with all signals blocked while it is made; `entry(arg)` runs with the
// caller's signal mask. Returns 0, or an errno value (EAGAIN: a limit was hit). Takes libc's locks.
int create_thread(void (*entry)(void*), void* arg, std::string_view name) noexcept;
// Calls visit(arg, begin, end) for the part of each such thread's stack that only the runtime uses.
// In stopped_process.hpp. False: a thread was stopped where it changes the list.
bool visit_own_stacks(void (*visit)(void* arg, std::uintptr_t begin, std::uintptr_t end) noexcept,
                      void* arg) noexcept;

// What ps, top, gdb and perf call the calling thread: the first 15 bytes.
void name_this_thread(std::string_view name) noexcept;

// The calling thread's number in the kernel (gettid(2)), never 0.
std::int32_t current_thread_id() noexcept;

// CPU time that a thread of this process has used, in nanoseconds; -1 if the thread is gone or the
// system refuses to tell. ~0.7 us.
std::int64_t thread_cpu_ns(std::int32_t thread_id) noexcept;

// How long a thread of this process has run on a CPU and has waited for one, in nanoseconds; -1
// each if the thread is gone or the system does not tell. A few microseconds: it reads a file of
// /proc (schedstat).
struct cpu_times {
  std::int64_t ran_ns = -1;
  std::int64_t waited_ns = -1;
};
cpu_times thread_cpu_times(std::int32_t thread_id) noexcept;

// The state of a thread of this process at this moment; `sleeps`: in the kernel. `unknown` where
// /proc can't be read. A few microseconds: it reads a file there.
enum class thread_state : std::uint8_t { runs, sleeps, unknown };
thread_state state_of_thread(std::int32_t thread_id) noexcept;
inline bool is_thread_asleep(std::int32_t thread_id) noexcept {
  return state_of_thread(thread_id) == thread_state::sleeps;
}

// Where another thread of this process sleeps in the kernel: the number of its system call, the
// instruction that it goes on with, and its stack pointer there. False if it runs, is gone, or the
// system does not tell (proc_pid_syscall(5)). Some ten microseconds.
struct sleeping_place {
  static constexpr std::int64_t no_call = -1;  // it sleeps elsewhere, as for a page of a file

  std::int64_t call = no_call;
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;

  bool operator==(const sleeping_place&) const noexcept = default;
};
bool where_thread_sleeps(std::int32_t thread_id, sleeping_place& at) noexcept;

// The number of this process's threads, including threads that libraries make; 0 if it can't be
// told. A few microseconds with /proc. Without it each number that a thread may have is tried,
// which takes a second of CPU time, unless there are more threads than `enough` or goes_on() says
// no.
std::uint32_t count_threads(std::uint32_t enough, bool (*goes_on)() noexcept) noexcept;

// The stack that the system gives main(): RLIMIT_STACK, or 0 if it has no limit.
std::size_t main_stack_bytes() noexcept;

// CPUs that a thread may run on, 0: the calling one; at least 1.
int available_cpus(std::int32_t thread_id = 0) noexcept;

// Makes timed waits of the calling thread as exact as the clock allows. Threads and processes that
// the thread makes inherit that, so only threads without user code may call this.
void set_exact_timers() noexcept;

// The same for the lifetime of the object, on a thread that runs user code before and after. Three
// system calls.
class exact_timers {
 public:
  exact_timers() noexcept;
  ~exact_timers();
  exact_timers(const exact_timers&) = delete;
  exact_timers& operator=(const exact_timers&) = delete;

 private:
  [[maybe_unused]] std::int64_t slack_before_ns_ = 0;  // 1 and less: nothing was changed
};

// For a calling thread that runs seldom and briefly: the kernel may let it run before other threads
// at once, where it can (Linux 6.12).
void ask_for_short_slices() noexcept;

// ---- memory ----

std::size_t page_bytes() noexcept;

// Zeroed, readable and writable memory, backed page by page when touched; null when no memory is
// left. Never made of huge pages if `small_pages`. `bytes` is a multiple of the page size.
void* map_memory(std::size_t bytes, bool small_pages) noexcept;
// The same, in huge pages where the kernel has some free. A touch then backs up to 2 MiB at once.
// `bytes` is a multiple of 2 MiB.
void* map_huge_pages(std::size_t bytes) noexcept;
void unmap_memory(void* start, std::size_t bytes) noexcept;
// The pages go back to the system; they are zero when touched again. Page-aligned.
void discard_memory(void* start, std::size_t bytes) noexcept;
// The pages go to swap space, if there is any, until they are touched again. Page-aligned.
void page_out(void* start, std::size_t bytes) noexcept;
// Is any of these pages in memory? True also if it can't be told, or if they are very many.
// Page-aligned.
bool is_any_resident(void* start, std::size_t bytes) noexcept;

// The means by which every access to a range of pages faults with SIGSEGV.
enum class guard : std::uint8_t {
  none,
  advised,  // MADV_GUARD_INSTALL (Linux 6.13), which costs no mapping
  split,    // mprotect(2), which makes one mapping three; they take four fifths of those at most
};

// No guard is `advised` from now on. Before the first one.
void never_advise_guards() noexcept;
// For a page-aligned range from now on; `none` if the process may not have another guard.
guard install_guard(void* start, std::size_t bytes) noexcept;
// The same for many ranges by one system call: for each bit i of `which` the range of `bytes` at
// start + i * distance. Returns the bits of the ranges that are `advised` now; 0 where the system
// has no such call (Linux 6.15), or refuses it.
std::uint64_t install_guards(char* start, std::size_t distance, std::size_t bytes,
                             std::uint64_t which) noexcept;
// The range is about to be unmapped.
void forget_guard(guard kind) noexcept;

}  // namespace sley::platform
