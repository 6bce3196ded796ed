// Words of thread-local storage on x86-64: see platform/current.hpp.
#pragma once

#define SLEY_READ_THREAD_WORD(name, value) \
  asm volatile("movq " name                \
               "@gottpoff(%%rip), %0\n\t"  \
               "movq %%fs:(%0), %0"        \
               : "=r"(value))

#define SLEY_WRITE_THREAD_WORD(name, value) \
  do {                                      \
    void* sley_offset;                      \
    asm volatile("movq " name               \
                 "@gottpoff(%%rip), %0\n\t" \
                 "movq %1, %%fs:(%0)"       \
                 : "=&r"(sley_offset)       \
                 : "r"(value)               \
                 : "memory");               \
  } while (false)
