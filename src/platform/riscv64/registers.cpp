#include "platform/unwind/own_process.hpp"

#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sley::platform {

namespace {

// The kernel writes them in this order, with the place where x0 would be.
constexpr std::size_t register_count = 32;
using saved_registers = std::uint64_t[register_count];

frame_registers registers_from(const saved_registers& saved) noexcept {
  frame_registers r;
  for (std::size_t x = 1; x < register_count; ++x) r.set(x, saved[x]);
  r.set(column_pc, saved[REG_PC]);
  r.is_interrupted = true;
  return r;
}

}  // namespace

frame_registers registers_in(const void* ucontext) noexcept {
  return registers_from(static_cast<const ucontext_t*>(ucontext)->uc_mcontext.__gregs);
}

frame_registers registers_in_core(const void* general) noexcept {
  saved_registers saved;
  std::memcpy(saved, general, sizeof saved);
  return registers_from(saved);
}

// The call has left nothing but its return address, in ra.
frame_registers caller_at_entry(const frame_registers& frame, const stack_memory&) noexcept {
  if (!frame.knows(column_return_address)) return frame;
  frame_registers caller = frame;
  caller.set(column_pc, frame.get(column_return_address));
  caller.is_interrupted = false;
  return caller;
}

// A handler returns to `li a7, SYS_rt_sigreturn; ecall`, in the vDSO. It is known by its code, as
// libgcc knows it. The signal's context is on the stack, behind the siginfo_t.
bool leave_handler(const stack_memory& memory, frame_registers& frame) noexcept {
  constexpr std::uint64_t code = 0x0000'0073'08b0'0893;
  std::uint64_t word = 0;
  if (!memory.read_word(frame.pc(), word) || word != code) return false;
  const std::uint64_t at = frame.get(column_sp) + sizeof(siginfo_t) +
                           offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, __gregs);
  saved_registers saved;
  for (std::size_t i = 0; i < register_count; ++i) {
    if (!memory.read_word(at + sizeof(word) * i, saved[i])) return false;
  }
  frame = registers_from(saved);
  return true;
}

}  // namespace sley::platform
