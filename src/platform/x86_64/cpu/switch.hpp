// The switch between stacks on x86-64: see platform/context.hpp.
#pragma once

#include "platform/context.hpp"

#include <cstdint>

namespace sley::platform {

inline constexpr std::uintptr_t red_zone_bytes = 128;

// Registers that the compiler knows only with certain options: the upper half and the masks of
// AVX-512, the upper half of APX. A compiler that may use them knows their names.
#ifdef __AVX512F__
#define SLEY_AVX512_REGISTERS                                                                   \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
      "k6", "k7"
#else
#define SLEY_AVX512_REGISTERS
#endif
#if defined(__APX_F__) || defined(__EGPR__)
#define SLEY_APX_REGISTERS                                                                     \
  , "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", \
      "r29", "r30", "r31"
#else
#define SLEY_APX_REGISTERS
#endif

[[gnu::always_inline]] inline void switch_stacks(context& from, const context& to) noexcept {
  context* out = &from;
  const context* in = &to;
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "movq %%rsp, 0(%[out])\n\t"
      "movq %%rbp, 8(%[out])\n\t"
      "movq %%rax, 16(%[out])\n\t"
      "movq 0(%[in]), %%rsp\n\t"
      "movq 8(%[in]), %%rbp\n\t"
      "jmpq *16(%[in])\n"
      "1:\n\t"
      "endbr64\n\t"
      : [out] "+D"(out), [in] "+S"(in)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "memory",
        "cc" SLEY_AVX512_REGISTERS SLEY_APX_REGISTERS);
}

#undef SLEY_AVX512_REGISTERS
#undef SLEY_APX_REGISTERS

}  // namespace sley::platform
