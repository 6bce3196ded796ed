// The runtime itself: its size and its figures.
#pragma once

#include <sley/detail/blocking.hpp>
#include <sley/detail/config.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace sley {

// Calls f() and returns what it returns, announcing that it may block the thread: while it does,
// other goroutines run. Costs a few nanoseconds when nothing happens. The goroutine stays on its
// thread inside f and may go on on another one when f has returned (errno is kept). f may use the
// library, call blocking again, and throw. A call that blocks without being announced is found out
// too, a little later. With a limit (runtime::set_blocking_limit) it parks before f until f may
// begin. On a foreign thread: just the call. From Go's entersyscall and exitsyscall.
template <class F, class... Args>
decltype(auto) blocking(F&& f, Args&&...) {
  constexpr bool is_callable = sizeof...(Args) == 0 && std::is_invocable_v<F>;
  static_assert(
      is_callable,
      "sley::blocking: the function has no arguments: write blocking([&] { return f(x); })");
  if constexpr (is_callable) {
    const detail::blocking_region region;
    return std::forward<F>(f)();
  }
}

// One system call, announced in the same way; returns -1 and sets errno as syscall(2) does. The
// arguments are integers or pointers, six at most.
template <class... Args>
long syscall(long number, Args... args) noexcept {
  static_assert(sizeof...(Args) <= 6, "sley::syscall: a system call has six arguments at most");
  const long words[6] = {detail::syscall_word(args)...};
  return detail::blocking_syscall(number, words);
}

}  // namespace sley

namespace sley::runtime {

// The number of Ps: how many goroutines run at the same time. Set by SLEY_MAXPROCS at boot, else
// the CPUs that this process may use: the CPUs of its affinity mask, and no more than the CPU limit
// of its cgroups allows, rounded up, but 2 at least. That automatic value is looked at about once a
// second while the process is busy, and followed. Any thread; never parks. From Go's
// runtime.GOMAXPROCS(0).
SLEY_API int max_procs() noexcept;

// Changes it and returns the old value; from then on it is no longer automatic. n <= 0 makes it
// automatic again; more than 256 are taken for 256. Stops the scheduler for some microseconds: the
// caller waits (a goroutine parks, a foreign thread blocks); no computing goroutine is interrupted.
// From Go's runtime.GOMAXPROCS and SetDefaultGOMAXPROCS.
SLEY_API int set_max_procs(int n);

// A fuse: the most threads that the runtime may make, 10,000 at the start. Returns the old limit.
// With more in use the process ends with a fatal error, at once if it has more already. n < 1:
// std::invalid_argument. Any thread; never parks. From Go's debug.SetMaxThreads.
SLEY_API int set_max_threads(int n);

// The most announced calls (blocking, syscall, and the library's own, as for regular files and
// names) at the same time. Further ones wait before they begin: their goroutines park, and go on in
// order. So calls without end take this many threads and no more. No limit, which is INT_MAX, at
// the start. Returns the old limit. If more calls are under way they are completed, and calls that
// began without a limit do not count. A call counts until it returns, also while it uses the
// library: if it waits for another announced call, that needs a place as well. No context ends the
// wait for a place. Unannounced calls,
// calls inside of calls and calls of foreign threads do not count. n < 1: std::invalid_argument.
// Any thread; never parks. Go has none.
SLEY_API int set_blocking_limit(int n);

// CPUs this process may run on (sched_getaffinity(2)), at least 1. From Go's runtime.NumCPU.
SLEY_API int num_cpu() noexcept;

// Goroutines that have been started and have not ended. From Go's runtime.NumGoroutine.
SLEY_API std::size_t num_goroutines() noexcept;

// Figures since the start of the process (counts) and of this moment (the rest). Figures that move
// while they are read may be off by what happened meanwhile.
struct stats {
  std::uint64_t goroutines;            // started and not ended
  std::uint64_t threads;               // Ms made by the runtime
  std::uint64_t idle_threads;          // of those, parked for want of work
  std::uint64_t spinning_threads;      // of those, looking for work
  std::uint64_t procs;                 // Ps
  std::uint64_t idle_procs;            // of those, without an M
  std::uint64_t reserve_procs;         // not taken into use when idle, because others have the CPUs
  std::uint64_t global_queue;          // goroutines waiting in the global queue
  std::uint64_t local_queues;          // goroutines waiting in the Ps' queues
  std::uint64_t timers;                // timers armed
  std::uint64_t spawned;               // goroutines ever started
  std::uint64_t switches;              // times a goroutine was given a P
  std::uint64_t steals;                // goroutines taken from another P's queue
  std::uint64_t parks;                 // times a goroutine waited
  std::uint64_t hand_offs;             // Ps handed from one M to another
  std::uint64_t retakes;               // Ps taken from an M that blocked, announced or not
  std::uint64_t preemptions;           // goroutines stopped at the end of their time slice
  std::uint64_t thread_wakes;          // times a sleeping M was woken
  std::uint64_t stack_bytes_reserved;  // address space held for stacks
  std::uint64_t stacks;                // stacks made
};

// Any thread; never parks, takes no lock for long.
SLEY_API stats read_stats() noexcept;

}  // namespace sley::runtime
