#include "platform/fault.hpp"

#include <sley/detail/atomic.hpp>

#include "platform/former_handler.hpp"
#include "platform/os.hpp"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

namespace sley::platform {

namespace {

constexpr std::size_t alternate_stack_bytes = 64 * 1024;

fault_hook on_fault = nullptr;  // [const] once installed
former_handler former_of_faults;
detail::atomic<void (*)() noexcept> before_failure;  // relaxed: always the same function

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

void handle_failure(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  const auto wait = before_failure.load_relaxed();  // always the same function
  if (wait != nullptr && !is_sent(*info)) wait();
  die_by(signal, info);
  errno = saved;
}

void* stack_pointer_in(const void* context) noexcept {
  const auto* at_fault = static_cast<const ucontext_t*>(context);
  return reinterpret_cast<void*>(at_fault->uc_mcontext.gregs[REG_RSP]);
}

void handle_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  if (is_fault(*info)) on_fault(info->si_addr, stack_pointer_in(context));
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

// SIGSEGV has its handler already.
void delay_failures(void (*wait)() noexcept) noexcept {
  if (is_simulation) return;
  before_failure.store_relaxed(wait);  // always the same function
  struct sigaction action = {};
  action.sa_sigaction = &handle_failure;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    replace_default_action(signal, action);
  }
}

void* use_alternate_signal_stack() noexcept {
  stack_t current = {};
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) == 0) return nullptr;
  stack_t ours = {};
  ours.ss_sp = map_memory(alternate_stack_bytes, false);
  ours.ss_size = alternate_stack_bytes;
  if (ours.ss_sp != nullptr) sigaltstack(&ours, nullptr);
  return ours.ss_sp;
}

void drop_alternate_signal_stack(void* ours) noexcept {
  if (ours == nullptr) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  if (sigaltstack(&none, nullptr) == 0) unmap_memory(ours, alternate_stack_bytes);
}

}  // namespace sley::platform
