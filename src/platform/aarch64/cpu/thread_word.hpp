// Words of thread-local storage on aarch64: see platform/current.hpp.
#pragma once

#define SLEY_READ_THREAD_WORD(name, value)            \
  do {                                                \
    void* sley_offset;                                \
    asm volatile("adrp %1, :gottprel:" name           \
                 "\n\t"                               \
                 "ldr %1, [%1, :gottprel_lo12:" name  \
                 "]\n\t"                              \
                 "mrs %0, tpidr_el0\n\t"              \
                 "ldr %0, [%0, %1]"                   \
                 : "=&r"(value), "=&r"(sley_offset)); \
  } while (false)

#define SLEY_WRITE_THREAD_WORD(name, value)             \
  do {                                                  \
    void* sley_base;                                    \
    void* sley_offset;                                  \
    asm volatile("adrp %1, :gottprel:" name             \
                 "\n\t"                                 \
                 "ldr %1, [%1, :gottprel_lo12:" name    \
                 "]\n\t"                                \
                 "mrs %0, tpidr_el0\n\t"                \
                 "str %2, [%0, %1]"                     \
                 : "=&r"(sley_base), "=&r"(sley_offset) \
                 : "r"(value)                           \
                 : "memory");                           \
  } while (false)
