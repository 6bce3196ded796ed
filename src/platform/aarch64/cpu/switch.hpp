// The switch between stacks on aarch64: see platform/context.hpp.
//
// x18 is a register like any other on Linux. Where a program gives it to a shadow call stack
// (-fsanitize=shadow-call-stack), a switch does not change that stack, so sley can't be built so.
#pragma once

#include "platform/context.hpp"

#include <cstdint>

namespace sley::platform {

inline constexpr std::uintptr_t red_zone_bytes = 0;

// Registers that the compiler knows only with certain options: the predicates of SVE. The clobbered
// v registers are the low parts of SVE's z registers. The first-fault register is not kept over
// calls, and clang does not know its name.
#ifdef __ARM_FEATURE_SVE
#define SLEY_SVE_REGISTERS                                                                         \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", \
      "p15"
#else
#define SLEY_SVE_REGISTERS
#endif

// It leaves by x16, from which `bti c` may be reached as well as `bti j` (hint 36): a new context
// begins at a function.
[[gnu::always_inline]] inline void switch_stacks(context& from, const context& to) noexcept {
  register context* out asm("x0") = &from;
  register const context* in asm("x1") = &to;
  asm volatile(
      "mov x2, sp\n\t"
      "adr x3, 1f\n\t"
      "stp x2, x29, [%[out]]\n\t"
      "str x3, [%[out], #16]\n\t"
      "ldp x2, x29, [%[in]]\n\t"
      "ldr x16, [%[in], #16]\n\t"
      "mov sp, x2\n\t"
      "br x16\n"
      "1:\n\t"
      "hint #36\n\t"
      : [out] "+r"(out), [in] "+r"(in)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
        "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
        "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
        "v26", "v27", "v28", "v29", "v30", "v31", "memory", "cc" SLEY_SVE_REGISTERS);
}

#undef SLEY_SVE_REGISTERS

}  // namespace sley::platform
