// Words of thread-local storage on aarch64: see platform/current.hpp.
#pragma once

// Leaves the thread's base in %0 and the word's offset from it in %1.
#define SLEY_FIND_THREAD_WORD(name) \
  "adrp %1, :gottprel:" name "\n\tldr %1, [%1, :gottprel_lo12:" name "]\n\tmrs %0, tpidr_el0\n\t"

#define SLEY_READ_THREAD_WORD(name, value)                      \
  do {                                                          \
    void* sley_offset;                                          \
    asm volatile(SLEY_FIND_THREAD_WORD(name) "ldr %0, [%0, %1]" \
                 : "=&r"(value), "=&r"(sley_offset));           \
  } while (false)

#define SLEY_WRITE_THREAD_WORD(name, value)                     \
  do {                                                          \
    void* sley_base;                                            \
    void* sley_offset;                                          \
    asm volatile(SLEY_FIND_THREAD_WORD(name) "str %2, [%0, %1]" \
                 : "=&r"(sley_base), "=&r"(sley_offset)         \
                 : "r"(value)                                   \
                 : "memory");                                   \
  } while (false)
