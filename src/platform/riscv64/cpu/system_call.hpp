// System calls on riscv64: see platform/system_call.hpp. The kernel keeps no vector register.
#pragma once

#include "platform/riscv64/vector_registers.hpp"
#include "platform/sanitizer.hpp"
#include "platform/system_call.hpp"

#include <sys/syscall.h>

#include <cstddef>

namespace sley::platform {

// Nothing may be computed between the declarations of the registers and the assembly: it could use
// them.
[[gnu::always_inline]] inline long raw_system_call(long number, long a, long b, long c, long d,
                                                   long e, long f) noexcept {
  register long a7 asm("a7") = number;
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a3 asm("a3") = d;
  register long a4 asm("a4") = e;
  register long a5 asm("a5") = f;
  asm volatile("ecall"
               : "+r"(a0)
               : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
               : "memory" SLEY_VECTOR_REGISTERS);
  return a0;
}

SLEY_UNINSTRUMENTED inline long raw_clone(std::byte* stack_end, long flags, int* handle,
                                          void (*entry)(void*) noexcept, void* arg) noexcept {
  register long a7 asm("a7") = SYS_clone;
  register long a0 asm("a0") = flags;
  register std::byte* a1 asm("a1") = stack_end;
  register int* a2 asm("a2") = handle;
  register long thread_storage asm("a3") = 0;
  register long child_tid asm("a4") = 0;
  register auto* entry_in asm("t2") = entry;
  register void* arg_in asm("t3") = arg;
  asm volatile(
      "ecall\n\t"
      "bnez a0, 1f\n\t"
      "li s0, 0\n\t"  // where debuggers stop
      "li ra, 0\n\t"
      "mv a0, t3\n\t"
      "jalr t2\n\t"
      "unimp\n"
      "1:"
      : "+r"(a0)
      : "r"(a7), "r"(a1), "r"(a2), "r"(thread_storage), "r"(child_tid), "r"(entry_in), "r"(arg_in)
      : "memory" SLEY_VECTOR_REGISTERS);
  return a0;
}

}  // namespace sley::platform
