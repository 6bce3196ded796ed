// The switch between stacks on riscv64: see platform/context.hpp.
//
// gp and tp belong to the program and to the thread. A shadow call stack, which some programs have
// in gp, is not switched, so sley can't be built so.
#pragma once

#include "platform/context.hpp"
#include "platform/riscv64/vector_registers.hpp"

#include <cstdint>

namespace sley::platform {

inline constexpr std::uintptr_t red_zone_bytes = 0;

// It leaves by t2. A jump by t0 would change the CPU's predictor of returns, and only jumps by t2
// may lead to a place without a landing pad (Zicfilp).
[[gnu::always_inline]] inline void switch_stacks(context& from, const context& to) noexcept {
  register context* out asm("a0") = &from;
  register const context* in asm("a1") = &to;
  asm volatile(
      "lla t0, 1f\n\t"
      "sd sp, 0(%[out])\n\t"
      "sd s0, 8(%[out])\n\t"
      "sd t0, 16(%[out])\n\t"
      "ld sp, 0(%[in])\n\t"
      "ld s0, 8(%[in])\n\t"
      "ld t2, 16(%[in])\n\t"
      "jr t2\n"
      "1:\n\t"
      : [out] "+r"(out), [in] "+r"(in)
      :
      : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a2", "a3", "a4", "a5", "a6", "a7", "s1",
        "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "ft0", "ft1", "ft2", "ft3",
        "ft4", "ft5", "ft6", "ft7", "ft8", "ft9", "ft10", "ft11", "fa0", "fa1", "fa2", "fa3", "fa4",
        "fa5", "fa6", "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",
        "fs10", "fs11", "memory" SLEY_VECTOR_REGISTERS);
}

}  // namespace sley::platform
