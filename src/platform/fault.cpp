#include "platform/fault.hpp"

#include <sley/detail/atomic.hpp>

#include "base/check.hpp"
#include "platform/former_handler.hpp"
#include "platform/os.hpp"
#include "platform/unwind/own_process.hpp"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace sley::platform {

namespace {

// Room for the handler and for the kernel's frame, which has all registers of the CPU: aarch64's
// SVE and SME may take 70 KB there.
std::size_t alternate_stack_bytes() noexcept {
  constexpr std::size_t handler_bytes = 48 * 1024;
  constexpr std::size_t whole_pages = 64 * 1024;  // of every size
  const std::size_t bytes = handler_bytes + getauxval(AT_MINSIGSTKSZ);
  return (bytes + whole_pages - 1) / whole_pages * whole_pages;
}

fault_hook on_fault = nullptr;  // [const] once installed
former_handler former_of_faults;
failure_hooks on_failure = {};  // [const] once installed

// Has an instruction faulted? Else a process has sent the signal.
bool is_fault(const siginfo_t& info) noexcept { return info.si_code > 0; }

// Ends the process by the signal, once the handler has returned and its thread is where it was
// interrupted: this is what a core dump shows. A signal that a process has sent does not come again
// by itself.
void die_by(int signal, siginfo_t* info) noexcept {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_BLOCK, &only, nullptr);
  std::signal(signal, SIG_DFL);
  const pid_t thread_id = gettid();
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_id, signal, info) != 0) {
    syscall(SYS_tgkill, getpid(), thread_id, signal);
  }
}

// Has a process asked for the end, by kill(2) for example? Else a thread has failed.
bool is_sent(const siginfo_t& info) noexcept {
  return info.si_code == SI_USER || info.si_code == SI_QUEUE;
}

}  // namespace

// ---- the report of a failure ----

namespace {

struct failure_signal {
  int number;
  std::string_view name;
};
constexpr failure_signal failures[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGSYS, "SIGSYS"},
};

failure failure_of(int signal, const siginfo_t& info, const void* context) noexcept {
  failure f = {};
  for (const failure_signal& s : failures) {
    if (s.number == signal) f.signal = s.name;
  }
  // SI_KERNEL: an address that no page can have.
  f.has_address = (signal == SIGSEGV || signal == SIGBUS) && info.si_code != SI_KERNEL;
  f.address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  f.registers = registers_in(context);
  return f;
}

// The one report: by its thread, and for other threads to compare with their own number.
detail::atomic<pid_t> reporter;  // relaxed: only the thread itself finds itself here
int reported = 0;                // [reporter] the signal

bool is_reporter() noexcept { return reporter.load_relaxed() == gettid(); }

void unblock(int signal) noexcept {
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

// The report has failed, or takes too long.
[[noreturn]] void die_at_once() noexcept {
  std::signal(reported, SIG_DFL);
  unblock(reported);
  syscall(SYS_tgkill, getpid(), gettid(), reported);
  base::end_process(reported);  // not reached, unless the system refuses it
}

// From now on a signal that comes to this thread again does die_at_once(), and one comes when the
// report takes too long.
void limit_report(int signal) noexcept {
  constexpr time_t longest_s = 10;
  reported = signal;
  reporter.store_relaxed(gettid());
  unblock(signal);
  struct sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event._sigev_un._tid = gettid();
  int timer = 0;  // the kernel's: libc's timers may allocate
  if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0) return;
  struct itimerspec end = {};
  end.it_value.tv_sec = longest_s;
  syscall(SYS_timer_settime, timer, 0, &end, nullptr);
}

// A program that raises the signal of a fault itself reports it itself.
bool is_reportable(int signal, const siginfo_t& info) noexcept {
  return signal == SIGABRT || is_fault(info);
}

void handle_failure(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (is_reporter()) die_at_once();
  if (on_failure.begin != nullptr && !is_sent(*info) && on_failure.begin() &&
      is_reportable(signal, *info)) {
    limit_report(signal);
    on_failure.report(failure_of(signal, *info, context));
  }
  die_by(signal, info);
  errno = saved;
}

}  // namespace

// ---- faults ----

namespace {

void handle_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (is_reporter()) die_at_once();
  if (is_fault(*info)) {
    const frame_registers at_fault = registers_in(context);
    on_fault(info->si_addr, reinterpret_cast<void*>(at_fault.get(column_sp)));
  }
  const auto outcome = former_of_faults.call(signal, info, context);
  // As in the kernel, a fault can't be ignored.
  const bool is_fatal = outcome == former_handler::outcome::none ||
                        (outcome == former_handler::outcome::ignored && is_fault(*info));
  if (is_fatal) handle_failure(signal, info, context);
  errno = saved;
}

}  // namespace

void install_fault_handler(fault_hook hook) noexcept {
  on_fault = hook;
  struct sigaction action = {};
  action.sa_sigaction = &handle_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  former_of_faults.replace(SIGSEGV, action);
}

void install_failure_hooks(const failure_hooks& hooks) noexcept {
  if (is_simulation) return;
  on_failure = hooks;
  struct sigaction action = {};
  action.sa_sigaction = &handle_failure;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const failure_signal& s : failures) {
    if (s.number != SIGSEGV) replace_default_action(s.number, action);  // it has its handler
  }
}

void call_without_alternate_stack(void (*f)(void*), void* arg) noexcept {
  stack_t before = {};
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, &before);
  f(arg);
  if ((before.ss_flags & SS_DISABLE) == 0) sigaltstack(&before, nullptr);
}

void* use_alternate_signal_stack() noexcept {
  stack_t current = {};
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) == 0) return nullptr;
  stack_t ours = {};
  ours.ss_sp = map_memory(alternate_stack_bytes(), false);
  ours.ss_size = alternate_stack_bytes();
  if (ours.ss_sp != nullptr) sigaltstack(&ours, nullptr);
  return ours.ss_sp;
}

void drop_alternate_signal_stack(void* ours) noexcept {
  if (ours == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  if (sigaltstack(&none, nullptr) == 0) unmap_memory(ours, alternate_stack_bytes());
}

}  // namespace sley::platform
