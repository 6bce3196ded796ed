// Words of thread-local storage on riscv64: see platform/current.hpp.
#pragma once

#define SLEY_FIND_THREAD_WORD(name) "la.tls.ie %0, " name "\n\tadd %0, %0, tp\n\t"

#define SLEY_READ_THREAD_WORD(name, value) \
  asm volatile(SLEY_FIND_THREAD_WORD(name) "ld %0, 0(%0)" : "=&r"(value))

#define SLEY_WRITE_THREAD_WORD(name, value)                 \
  do {                                                      \
    void* sley_place;                                       \
    asm volatile(SLEY_FIND_THREAD_WORD(name) "sd %1, 0(%0)" \
                 : "=&r"(sley_place)                        \
                 : "r"(value)                               \
                 : "memory");                               \
  } while (false)
