// A system that refuses system calls: a seccomp filter plays it.
#pragma once

#include <vector>

namespace sley_test {

// A system call to refuse, and its error; if it matters, only where the low half of one of its
// arguments has this value in these bits. An error of 0: the call is answered with success and not
// made.
struct refusal {
  long number;
  int error;
  unsigned argument = 0;
  unsigned bits = 0;
  unsigned value = 0;
  bool with_all_above = false;  // also every call that has a higher number
};

// Holds in every thread, also in later ones, and after an exec. It cannot be taken back. False if
// filters are refused themselves. Of several refusals of a call the first decides.
bool refuse(const std::vector<refusal>& refusals);

}  // namespace sley_test
