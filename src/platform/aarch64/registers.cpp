#include "platform/unwind/own_process.hpp"

#include <sys/user.h>
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sley::platform {

frame_registers registers_in(const void* ucontext) noexcept {
  const mcontext_t& saved = static_cast<const ucontext_t*>(ucontext)->uc_mcontext;
  frame_registers r;
  for (std::size_t x = 0; x <= column_return_address; ++x) r.set(x, saved.regs[x]);
  r.set(column_sp, saved.sp);
  r.set(column_pc, saved.pc);
  r.is_interrupted = true;
  return r;
}

frame_registers registers_in_core(const void* general) noexcept {
  user_regs_struct saved;
  std::memcpy(&saved, general, sizeof saved);
  frame_registers r;
  for (std::size_t x = 0; x <= column_return_address; ++x) r.set(x, saved.regs[x]);
  r.set(column_sp, saved.sp);
  r.set(column_pc, saved.pc);
  r.is_interrupted = true;
  return r;
}

// The call has left nothing but its return address, in x30.
frame_registers caller_at_entry(const frame_registers& frame, const stack_memory&) noexcept {
  if (!frame.knows(column_return_address)) return frame;
  frame_registers caller = frame;
  caller.set(column_pc, frame.get(column_return_address));
  caller.is_interrupted = false;
  return caller;
}

// A handler returns to `mov x8, #SYS_rt_sigreturn; svc #0`, in the vDSO. The kernel has no unwind
// information for it since 5.8, because debuggers know it by its code, as libgcc does. The signal's
// context is on the stack, behind the siginfo_t.
bool leave_handler(const stack_memory& memory, frame_registers& frame) noexcept {
  constexpr std::uint64_t code = 0xd400'0001'd280'1168;
  constexpr std::size_t saved_at = sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);
  std::uint64_t word = 0;
  if (!memory.read_word(frame.pc(), word) || word != code) return false;
  const std::uint64_t saved = frame.get(column_sp) + saved_at;
  frame_registers interrupted;
  const auto take = [&](std::size_t column, std::size_t offset) {
    const bool is_there = memory.read_word(saved + offset, word);
    interrupted.set(column, word);
    return is_there;
  };
  for (std::size_t x = 0; x <= column_return_address; ++x) {
    if (!take(x, offsetof(mcontext_t, regs) + 8 * x)) return false;
  }
  if (!take(column_sp, offsetof(mcontext_t, sp)) || !take(column_pc, offsetof(mcontext_t, pc))) {
    return false;
  }
  interrupted.is_interrupted = true;
  frame = interrupted;
  return true;
}

}  // namespace sley::platform
