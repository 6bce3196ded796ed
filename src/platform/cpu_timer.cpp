#include "platform/cpu_timer.hpp"

#include "platform/cpu_clock.hpp"
#include "platform/timespec.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

namespace sley::platform {

namespace {

cpu_timer_hook on_interval = nullptr;  // [const] once installed

void handle_interval(int, siginfo_t* info, void* context) {
  const int saved = errno;
  // Others send SIGPROF too: kill(2), and setitimer(2) of a program that has no handler.
  if (info->si_code == SI_TIMER) {
    const auto late = static_cast<std::uint32_t>(info->si_overrun);
    on_interval(info->si_value.sival_ptr, context, 1 + late);
  }
  errno = saved;
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &handle_interval;
}

bool is_programs(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

bool take_cpu_timer_signal(cpu_timer_hook hook) noexcept {
  struct sigaction now = {};
  sigaction(SIGPROF, nullptr, &now);
  if (is_ours(now)) return true;
  if (is_programs(now)) return false;
  on_interval = hook;
  struct sigaction ours = {};
  ours.sa_sigaction = &handle_interval;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&ours.sa_mask);
  sigaction(SIGPROF, &ours, nullptr);
  return true;
}

int cpu_timer::start(std::int32_t thread_id, std::int64_t first_ns, std::int64_t interval_ns,
                     void* arg) noexcept {
  const int saved = errno;
  sigevent how = {};
  how.sigev_notify = SIGEV_THREAD_ID;
  how.sigev_signo = SIGPROF;
  how.sigev_value.sival_ptr = arg;
  how._sigev_un._tid = thread_id;  // older headers have no other name for it
  if (timer_create(cpu_clock_of(thread_id), &how, &timer_) != 0) return std::exchange(errno, saved);
  is_running_ = true;
  const itimerspec when = {to_timespec(interval_ns), to_timespec(first_ns)};
  int error = 0;
  if (timer_settime(timer_, 0, &when, nullptr) != 0) {
    error = errno;
    stop();
  }
  errno = saved;
  return error;
}

void cpu_timer::stop() noexcept {
  const int saved = errno;
  if (std::exchange(is_running_, false)) timer_delete(timer_);
  errno = saved;
}

}  // namespace sley::platform
