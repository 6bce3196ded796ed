// The vector registers of aarch64: of Advanced SIMD, and the longer ones and the predicates of SVE,
// whose length the CPU chooses.
#pragma once

#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sley_test {

// Room for 32 registers of the widest kind.
using register_image = std::array<std::uint64_t, 32 * 32>;

struct register_kind {
  bool is_present;
  // Loads the registers, leaves them alone for some 100,000 cycles, and stores them.
  void (*hold)(const register_image& from, register_image& to);
  std::size_t first, last;
  std::size_t bytes, distance;  // of each register's part of the image, and between two
};

// clang-format off
#define SLEY_HOLD(name, load, store, kind, numbers, step)                                     \
  inline void name(const register_image& from, register_image& to) {                          \
    asm volatile(                                                                             \
        ".arch_extension sve\n\t"                                                             \
        ".irp r," numbers "\n\t" load " " kind "\\r, [%[from], #" step "]\n\t.endr\n\t"       \
        "mov x9, #34464\n\tmovk x9, #1, lsl #16\n1:\tsubs x9, x9, #1\n\tb.ne 1b\n\t"          \
        ".irp r," numbers "\n\t" store " " kind "\\r, [%[to], #" step "]\n\t.endr\n\t"        \
        ".arch_extension nosve\n\t"                                                           \
        : : [from] "r"(from.data()), [to] "r"(to.data())                                      \
        : "x9", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9",   \
          "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", \
          "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");              \
  }
// clang-format on
#define SLEY_FIRST_16 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define SLEY_ALL_32 SLEY_FIRST_16 ",16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

SLEY_HOLD(hold_simd, "ldr", "str", "q", SLEY_ALL_32, "16*\\r")
SLEY_HOLD(hold_sve, "ldr", "str", "z", SLEY_ALL_32, "\\r, mul vl")
SLEY_HOLD(hold_predicates, "ldr", "str", "p", SLEY_FIRST_16, "\\r, mul vl")

#undef SLEY_HOLD
#undef SLEY_FIRST_16
#undef SLEY_ALL_32

inline std::size_t sve_register_bytes() {
  std::size_t bytes;
  asm(".arch_extension sve\n\trdvl %0, #1\n\t.arch_extension nosve" : "=r"(bytes));
  return bytes;
}

inline std::array<register_kind, 3> register_kinds() {
  const bool sve = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
  const std::size_t wide = sve ? sve_register_bytes() : 0;
  return {register_kind{true, hold_simd, 0, 31, 16, 16},
          register_kind{sve, hold_sve, 0, 31, wide, wide},
          register_kind{sve, hold_predicates, 0, 15, wide / 8, wide / 8}};
}

}  // namespace sley_test
