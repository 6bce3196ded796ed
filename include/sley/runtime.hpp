// The runtime itself: its size and its figures.
#pragma once

#include <sley/detail/config.hpp>

#include <cstddef>
#include <cstdint>

namespace sley::runtime {

// The number of Ps: how many goroutines run at the same time. Set by SLEY_MAXPROCS at boot, else
// the CPUs this process may use. Any thread; never parks. From Go's runtime.GOMAXPROCS(0).
SLEY_API int max_procs() noexcept;

// CPUs this process may run on (sched_getaffinity(2)), at least 1. From Go's runtime.NumCPU.
SLEY_API int num_cpu() noexcept;

// Goroutines that have been started and have not ended. From Go's runtime.NumGoroutine.
SLEY_API std::size_t num_goroutines() noexcept;

// Figures since the start of the process (counts) and of this moment (the rest). Those that move
// while they are read may be off by what happened meanwhile.
struct stats {
  std::uint64_t goroutines;            // started and not ended
  std::uint64_t threads;               // Ms made by the runtime
  std::uint64_t idle_threads;          // of those, parked for want of work
  std::uint64_t spinning_threads;      // of those, looking for work
  std::uint64_t procs;                 // Ps
  std::uint64_t idle_procs;            // of those, without an M
  std::uint64_t global_queue;          // goroutines waiting in the global queue
  std::uint64_t local_queues;          // goroutines waiting in the Ps' queues
  std::uint64_t timers;                // timers armed
  std::uint64_t spawned;               // goroutines ever started
  std::uint64_t switches;              // times a goroutine was given a P
  std::uint64_t steals;                // goroutines taken from another P's queue
  std::uint64_t parks;                 // times a goroutine waited
  std::uint64_t hand_offs;             // Ps handed to another M around a blocking call
  std::uint64_t retakes;               // Ps taken back from an M that slept in the kernel
  std::uint64_t preemptions;           // goroutines stopped at the end of their time slice
  std::uint64_t thread_wakes;          // times a sleeping M was woken
  std::uint64_t stack_bytes_reserved;  // address space held for stacks
  std::uint64_t stacks;                // stacks made
};

// Any thread; never parks, takes no lock for long.
SLEY_API stats read_stats() noexcept;

}  // namespace sley::runtime
