#include "platform/fault.hpp"

#include "platform/former_handler.hpp"
#include "platform/os.hpp"

#include <csignal>
#include <cstddef>

namespace sley::platform {

namespace {

constexpr std::size_t alternate_stack_bytes = 64 * 1024;

fault_hook on_fault = nullptr;  // [const] once installed
former_handler former_of_faults;

void handle_fault(int signal, siginfo_t* info, void* context) {
  on_fault(info->si_addr);
  if (former_of_faults.call(signal, info, context)) return;
  // The instruction faults once more when we return, and the default action takes it.
  std::signal(signal, SIG_DFL);
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
