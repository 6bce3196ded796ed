// Registers of frames on riscv64: see platform/unwind/own_process.hpp.
#pragma once

#include "platform/unwind/own_process.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sley::platform {

[[gnu::always_inline]] inline frame_registers registers_here() noexcept {
  constexpr std::size_t saved_columns[] = {1, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
  std::uint64_t saved[std::size(saved_columns)];  // ra, s0 to s11
  std::uint64_t sp, pc;
  asm volatile(
      "sd ra, 0(%[saved])\n\tsd s0, 8(%[saved])\n\tsd s1, 16(%[saved])\n\t"
      "sd s2, 24(%[saved])\n\tsd s3, 32(%[saved])\n\tsd s4, 40(%[saved])\n\t"
      "sd s5, 48(%[saved])\n\tsd s6, 56(%[saved])\n\tsd s7, 64(%[saved])\n\t"
      "sd s8, 72(%[saved])\n\tsd s9, 80(%[saved])\n\tsd s10, 88(%[saved])\n\t"
      "sd s11, 96(%[saved])\n\tmv %[sp], sp\n\tlla %[pc], 1f\n1:"
      : [sp] "=&r"(sp), [pc] "=&r"(pc)
      : [saved] "r"(saved)
      : "memory");
  frame_registers r;
  for (std::size_t i = 0; i < std::size(saved_columns); ++i) r.set(saved_columns[i], saved[i]);
  r.set(column_sp, sp);
  r.set(column_pc, pc);
  r.is_interrupted = true;
  return r;
}

}  // namespace sley::platform
