// SIGPROF at equal intervals of a thread's CPU time, for the CPU profile.
//
// A thread that sleeps uses no CPU time. So the signal comes to a thread that runs, and next to
// never ends a system call with EINTR.
#pragma once

#include <cstdint>
#include <ctime>

namespace sley::platform {

// Called in the signal handler, on the thread whose intervals are over: with the argument of its
// timer, what the handler got, and how many intervals have ended since the last call. All signals
// are deferred meanwhile; errno is kept. It may do no more than a signal handler may.
using cpu_timer_hook = void (*)(void* arg, const void* ucontext, std::uint32_t intervals) noexcept;

// Takes SIGPROF, and keeps it: a signal may come when its timer has ended, and the default action
// would end the process. False: the program handles SIGPROF. One thread at a time.
bool take_cpu_timer_signal(cpu_timer_hook hook) noexcept;

class cpu_timer {
 public:
  cpu_timer() noexcept = default;
  ~cpu_timer() { stop(); }
  cpu_timer(const cpu_timer&) = delete;
  cpu_timer& operator=(const cpu_timer&) = delete;

  // For a thread of this process. The hook is called with `arg` first after `first_ns` of CPU time,
  // and from then on at intervals; both are above 0. Not while it runs. 0, or an errno value: the
  // thread has ended, or the system refuses (RLIMIT_SIGPENDING).
  int start(std::int32_t thread_id, std::int64_t first_ns, std::int64_t interval_ns,
            void* arg) noexcept;
  // A signal that is on its way may still come.
  void stop() noexcept;
  bool is_running() const noexcept { return is_running_; }

 private:
  timer_t timer_ = {};
  bool is_running_ = false;
};

}  // namespace sley::platform
