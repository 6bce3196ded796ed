// A system that refuses system calls: a seccomp filter plays it.
#pragma once

#include <initializer_list>

namespace sley_test {

// A system call to refuse, and its error; if it matters, only where the low half of one of its
// arguments has this value in these bits.
struct refusal {
  long number;
  int error;
  unsigned argument = 0;
  unsigned bits = 0;
  unsigned value = 0;
};

// Holds in every thread, also in later ones, and after an exec. It cannot be taken back. False if
// filters are refused themselves.
bool refuse(std::initializer_list<refusal> refusals);

}  // namespace sley_test
