#include "platform/unwind/own_process.hpp"

#include <sys/user.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace sley::platform {

frame_registers registers_in(const void* ucontext) noexcept {
  const auto& saved = static_cast<const ucontext_t*>(ucontext)->uc_mcontext.gregs;
  frame_registers r;
  const auto take = [&](column c, int from) { r.set(c, static_cast<std::uint64_t>(saved[from])); };
  take(column_rbx, REG_RBX);
  take(column_frame_pointer, REG_RBP);
  take(column_sp, REG_RSP);
  take(column_r12, REG_R12);
  take(column_r13, REG_R13);
  take(column_r14, REG_R14);
  take(column_r15, REG_R15);
  take(column_pc, REG_RIP);
  r.is_interrupted = true;
  return r;
}

frame_registers registers_in_core(const void* general) noexcept {
  user_regs_struct saved;
  std::memcpy(&saved, general, sizeof saved);
  frame_registers r;
  r.set(column_rbx, saved.rbx);
  r.set(column_frame_pointer, saved.rbp);
  r.set(column_sp, saved.rsp);
  r.set(column_r12, saved.r12);
  r.set(column_r13, saved.r13);
  r.set(column_r14, saved.r14);
  r.set(column_r15, saved.r15);
  r.set(column_pc, saved.rip);
  r.is_interrupted = true;
  return r;
}

// The tables of libc have it.
bool leave_handler(const stack_memory&, frame_registers&) noexcept { return false; }

// The call has left nothing but its return address, on the stack.
frame_registers caller_at_entry(const frame_registers& frame, const stack_memory& memory) noexcept {
  const std::uint64_t at = frame.get(column_sp);
  std::uint64_t word = 0;
  if (!memory.read_word(at, word)) return frame;
  frame_registers caller = frame;
  caller.set(column_pc, word);
  caller.set(column_sp, at + sizeof(word));
  caller.is_interrupted = false;
  return caller;
}

}  // namespace sley::platform
