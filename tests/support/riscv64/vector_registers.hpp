// The floating-point registers of riscv64, and the vector registers, whose length the CPU chooses.
#pragma once

#include <sys/auxv.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace sley_test {

// Room for 32 registers of 2048 bits.
using register_image = std::array<std::uint64_t, 32 * 32>;

struct register_kind {
  bool is_present;
  // Loads the registers, leaves them alone for some 100,000 cycles, and stores them.
  void (*hold)(const register_image& from, register_image& to);
  std::size_t first, last;
  std::size_t bytes, distance;  // of each register's part of the image, and between two
};

// `step` goes from one register's part to the next.
// clang-format off
#define SLEY_HOLD(name, load, store, kind, step)                                             \
  inline void name(const register_image& from, register_image& to) {                         \
    const std::uint64_t* in = from.data();                                                   \
    std::uint64_t* out = to.data();                                                          \
    asm volatile(                                                                            \
        ".option push\n\t.option arch, +v\n\t" step                                          \
        ".irp r," SLEY_ALL_32 "\n\t" load " " kind "\\r, (%[in])\n\t"                        \
        "add %[in], %[in], t0\n\t.endr\n\t"                                                  \
        "li t1, 100000\n1:\taddi t1, t1, -1\n\tbnez t1, 1b\n\t"                              \
        ".irp r," SLEY_ALL_32 "\n\t" store " " kind "\\r, (%[out])\n\t"                      \
        "add %[out], %[out], t0\n\t.endr\n\t"                                                \
        ".option pop"                                                                        \
        : [in] "+r"(in), [out] "+r"(out)                                                     \
        :                                                                                    \
        : "t0", "t1", "memory", "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7",      \
          "ft8", "ft9", "ft10", "ft11", "fa0", "fa1", "fa2", "fa3", "fa4", "fa5", "fa6",     \
          "fa7", "fs0", "fs1", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9",       \
          "fs10", "fs11");                                                                   \
  }
// clang-format on
#define SLEY_ALL_32 \
  "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

SLEY_HOLD(hold_doubles, "fld", "fsd", "f", "li t0, 8\n\t")
SLEY_HOLD(hold_vectors, "vl1r.v", "vs1r.v", "v", "csrr t0, vlenb\n\t")

#undef SLEY_HOLD
#undef SLEY_ALL_32

inline std::size_t vector_register_bytes() {
  std::size_t bytes;
  asm(".option push\n\t.option arch, +v\n\tcsrr %0, vlenb\n\t.option pop" : "=r"(bytes));
  return bytes;
}

inline std::array<register_kind, 2> register_kinds() {
  const bool has_vectors = (getauxval(AT_HWCAP) & 1UL << ('V' - 'A')) != 0;
  const std::size_t wide = has_vectors ? vector_register_bytes() : 0;
  return {register_kind{true, hold_doubles, 0, 31, 8, 8},
          register_kind{has_vectors, hold_vectors, 0, 31, wide, wide}};
}

}  // namespace sley_test
