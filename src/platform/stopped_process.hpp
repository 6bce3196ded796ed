// All threads of this process stand still while a function looks at their registers and at memory.
//
// The function runs in a helper process, which shares this process's memory and stops its threads
// as a debugger does (ptrace(2)). So it sees one moment of all threads, in user code too, with what
// they have in registers alone. Rejected: fork(2), whose copy is of no one moment, because the
// other threads go on while the kernel copies, and which shows no registers. Rejected too: a signal
// to each thread, because calls that sleep would return EINTR, and a thread may block it.
#pragma once

#include "platform/process_memory.hpp"
#include "platform/sanitizer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sley::platform {

// The sanitizers' memory is too large to be read, and they have pointers in places of their own. In
// the simulation there is one thread.
#if defined(SLEY_ASAN) || defined(SLEY_TSAN) || defined(SLEY_SIMULATION)
inline constexpr bool can_stop_process = false;
#else
inline constexpr bool can_stop_process = true;
#endif

// What a stopped thread has in its registers, vector registers too.
struct stopped_thread {
  bool is_first = false;  // the thread that has begun the process
  std::uintptr_t stack_pointer = 0;
  std::span<const std::uintptr_t> words;
};

class stopped_threads {
 public:
  stopped_threads(int process_id, memory_range own) noexcept : memory(own), process(process_id) {}
  // In the helper. Calls visit(arg, thread) for each thread of the process. False: a thread's
  // registers can't be read.
  bool visit_each(void (*visit)(void* arg, const stopped_thread& thread) noexcept,
                  void* arg) noexcept;
  // What the helper writes to.
  memory_range own_memory() const noexcept { return memory; }

 private:
  friend struct process_stopper;

  struct one {
    int id = 0;
    int signal = 0;  // came in the way of the stop, and is delivered after it
  };
  static constexpr std::size_t most = 16 * 1024;
  static constexpr std::size_t most_register_bytes = 16 * 1024;

  const memory_range memory;
  const int process;
  std::size_t count = 0;
  one threads[most];
  alignas(64) std::uintptr_t words[most_register_bytes / sizeof(std::uintptr_t)];
};

// Calls f(arg, threads) while all threads of this process are stopped, the caller's too. f must use
// system calls without libc, take no lock and allocate nothing. Returns 0, or the error because of
// which f was not called: EPERM and the like where a process may not be traced or is being
// debugged, ETIMEDOUT if a thread does not stop within a second. Blocks the thread.
//
// A call that sleeps goes on after that, except epoll_wait(2) and the few others that return EINTR
// whenever their thread is stopped: see signal(7).
int with_process_stopped(void (*f)(void* arg, stopped_threads& threads) noexcept,
                         void* arg) noexcept;

}  // namespace sley::platform
