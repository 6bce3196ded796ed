// The vector registers of x86-64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sley_test {

// Room for 32 registers of the widest kind.
using register_image = std::array<std::uint64_t, 32 * 8>;

struct register_kind {
  bool is_present;
  // Loads the registers, leaves them alone for some 100,000 cycles, and stores them.
  void (*hold)(const register_image& from, register_image& to);
  std::size_t first, last;
  std::size_t bytes, distance;  // of each register's part of the image, and between two
};

// clang-format off
#define SLEY_HOLD(name, move, kind, numbers, and_then)                                        \
  inline void name(const register_image& from, register_image& to) {                          \
    asm volatile(                                                                             \
        ".irp r," numbers "\n\t" move " 64*\\r(%[from]), %%" kind "\\r\n\t.endr\n\t"          \
        "movl $100000, %%ecx\n1:\tdecl %%ecx\n\tjnz 1b\n\t"                                   \
        ".irp r," numbers "\n\t" move " %%" kind "\\r, 64*\\r(%[to])\n\t.endr\n\t" and_then   \
        : : [from] "r"(from.data()), [to] "r"(to.data())                                      \
        : "rcx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",      \
          "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");      \
  }
// clang-format on
#define SLEY_FIRST_16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define SLEY_ALL_32 SLEY_FIRST_16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

SLEY_HOLD(hold_sse, "movups", "xmm", SLEY_FIRST_16, "")
SLEY_HOLD(hold_avx, "vmovups", "ymm", SLEY_FIRST_16, "vzeroupper")
SLEY_HOLD(hold_avx512, "vmovups", "zmm", SLEY_ALL_32, "vzeroupper")
SLEY_HOLD(hold_masks, "kmovw", "k", "1,2,3,4,5,6,7", "")

#undef SLEY_HOLD
#undef SLEY_FIRST_16
#undef SLEY_ALL_32

inline std::array<register_kind, 4> register_kinds() {
  const bool avx = __builtin_cpu_supports("avx") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  return {register_kind{true, hold_sse, 0, 15, 16, 64}, register_kind{avx, hold_avx, 0, 15, 32, 64},
          register_kind{avx512, hold_avx512, 0, 31, 64, 64},
          register_kind{avx512, hold_masks, 1, 7, 2, 64}};
}

}  // namespace sley_test
