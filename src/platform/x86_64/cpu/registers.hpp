// Registers of frames on x86-64: see platform/unwind/own_process.hpp.
#pragma once

#include "platform/unwind/own_process.hpp"

#include <cstdint>

namespace sley::platform {

[[gnu::always_inline]] inline frame_registers registers_here() noexcept {
  std::uint64_t rbx, rbp, rsp, r12, r13, r14, r15, rip;
  asm volatile(
      "movq %%rbx, %0\n\tmovq %%rbp, %1\n\tmovq %%rsp, %2\n\tmovq %%r12, %3\n\t"
      "movq %%r13, %4\n\tmovq %%r14, %5\n\tmovq %%r15, %6\n\tleaq 1f(%%rip), %7\n1:"
      : "=m"(rbx), "=m"(rbp), "=m"(rsp), "=m"(r12), "=m"(r13), "=m"(r14), "=m"(r15), "=r"(rip));
  frame_registers r;
  r.set(column_rbx, rbx);
  r.set(column_frame_pointer, rbp);
  r.set(column_sp, rsp);
  r.set(column_r12, r12);
  r.set(column_r13, r13);
  r.set(column_r14, r14);
  r.set(column_r15, r15);
  r.set(column_pc, rip);
  r.is_interrupted = true;
  return r;
}

}  // namespace sley::platform
