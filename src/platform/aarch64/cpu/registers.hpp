// Registers of frames on aarch64: see platform/unwind/own_process.hpp.
#pragma once

#include "platform/unwind/own_process.hpp"

#include <cstddef>
#include <cstdint>

namespace sley::platform {

[[gnu::always_inline]] inline frame_registers registers_here() noexcept {
  constexpr std::size_t first = 19;  // x19 to x30
  std::uint64_t saved[12];
  std::uint64_t sp, pc;
  asm volatile(
      "stp x19, x20, [%[saved]]\n\tstp x21, x22, [%[saved], #16]\n\t"
      "stp x23, x24, [%[saved], #32]\n\tstp x25, x26, [%[saved], #48]\n\t"
      "stp x27, x28, [%[saved], #64]\n\tstp x29, x30, [%[saved], #80]\n\t"
      "mov %[sp], sp\n\tadr %[pc], 1f\n1:"
      : [sp] "=&r"(sp), [pc] "=&r"(pc)
      : [saved] "r"(saved)
      : "memory");
  frame_registers r;
  for (std::size_t i = 0; i < 12; ++i) r.set(first + i, saved[i]);
  r.set(column_sp, sp);
  r.set(column_pc, pc);
  r.is_interrupted = true;
  return r;
}

}  // namespace sley::platform
