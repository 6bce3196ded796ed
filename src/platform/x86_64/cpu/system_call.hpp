// System calls on x86-64: see platform/system_call.hpp.
#pragma once

#include "platform/sanitizer.hpp"
#include "platform/system_call.hpp"

#include <sys/syscall.h>

#include <cstddef>

namespace sley::platform {

// Nothing may be computed between the declarations of r10, r8 and r9 and the assembly: it could use
// those registers.
[[gnu::always_inline]] inline long raw_system_call(long number, long a, long b, long c, long d,
                                                   long e, long f) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

SLEY_UNINSTRUMENTED inline long raw_clone(std::byte* stack_end, long flags, int* handle,
                                          void (*entry)(void*) noexcept, void* arg) noexcept {
  long result;
  register long child_tid asm("r10") = 0;
  register long thread_storage asm("r8") = 0;
  register auto* entry_in asm("r12") = entry;
  register void* arg_in asm("r13") = arg;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"  // where debuggers stop
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "0"(SYS_clone), "D"(flags), "S"(stack_end), "d"(handle), "r"(child_tid),
        "r"(thread_storage), "r"(entry_in), "r"(arg_in)
      : "rcx", "r11", "memory");
  return result;
}

}  // namespace sley::platform
