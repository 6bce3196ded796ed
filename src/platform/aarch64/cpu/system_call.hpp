// System calls on aarch64: see platform/system_call.hpp.
#pragma once

#include "platform/sanitizer.hpp"
#include "platform/system_call.hpp"

#include <sys/syscall.h>

#include <cstddef>

namespace sley::platform {

// Nothing may be computed between the declarations of the registers and the assembly: it could use
// them.
[[gnu::always_inline]] inline long raw_system_call(long number, long a, long b, long c, long d,
                                                   long e, long f) noexcept {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory", "cc");
  return x0;
}

SLEY_UNINSTRUMENTED inline long raw_clone(std::byte* stack_end, long flags, int* handle,
                                          void (*entry)(void*) noexcept, void* arg) noexcept {
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = flags;
  register std::byte* x1 asm("x1") = stack_end;
  register int* x2 asm("x2") = handle;
  register long thread_storage asm("x3") = 0;
  register long child_tid asm("x4") = 0;
  register auto* entry_in asm("x10") = entry;
  register void* arg_in asm("x11") = arg;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, #0\n\t"  // where debuggers stop
      "mov x30, #0\n\t"
      "mov x0, x11\n\t"
      "blr x10\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(thread_storage), "r"(child_tid), "r"(entry_in), "r"(arg_in)
      : "memory", "cc");
  return x0;
}

}  // namespace sley::platform
