// CPU time that is used up, for tests of CPU profiles.
#pragma once

#include <sley/go.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <system_error>

#include <unistd.h>

namespace sley_test {

inline std::chrono::nanoseconds cpu_time(clockid_t clock) {
  timespec t;
  if (::clock_gettime(clock, &t) != 0) throw std::system_error(errno, std::system_category());
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// Says when the kernel has looked at the calling thread's CPU timers. It looks when its clock
// ticks. Where other threads share the CPU, the ticks may meet those for more than a tenth of a
// second of the thread's CPU time: until then a CPU profile has nothing of it, and loses what is
// never looked at.
class cpu_timer_looks {
 public:
  cpu_timer_looks() {
    struct sigaction action = {};
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    action.sa_handler = [](int) { has_looked = true; };
    sigevent how = {};
    how.sigev_notify = SIGEV_THREAD_ID;
    how.sigev_signo = SIGRTMIN;
    how._sigev_un._tid = ::gettid();
    const itimerspec often = {{0, 1'000'000}, {0, 1'000'000}};  // more often than any clock ticks
    if (::sigaction(SIGRTMIN, &action, nullptr) != 0 ||
        ::timer_create(CLOCK_THREAD_CPUTIME_ID, &how, &timer_) != 0 ||
        ::timer_settime(timer_, 0, &often, nullptr) != 0) {
      throw std::system_error(errno, std::system_category());
    }
  }
  ~cpu_timer_looks() { ::timer_delete(timer_); }
  cpu_timer_looks(const cpu_timer_looks&) = delete;
  cpu_timer_looks& operator=(const cpu_timer_looks&) = delete;

  // Has it looked since the last call?
  bool take() { return has_looked.exchange(false); }

 private:
  static inline thread_local std::atomic<bool> has_looked = false;
  timer_t timer_;
};

// Computes until the thread has used that much CPU time, and on until the kernel looks at its CPU
// timers: a profile has all of it then. Returns how much the thread has used. A goroutine is locked
// to its thread meanwhile: on another one it would wait for ever for the timer of the first, which
// sleeps.
inline std::chrono::nanoseconds burn(std::chrono::nanoseconds d) {
  const sley::os_thread_lock lock;
  cpu_timer_looks looks;
  const auto begin = cpu_time(CLOCK_THREAD_CPUTIME_ID);
  for (;;) {
    const bool has_looked = looks.take();
    const auto used = cpu_time(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (has_looked && used >= d) return used;
    for (int i = 0; i < 10'000; ++i) asm volatile("");
  }
}

}  // namespace sley_test
