// Runs a program as on another kernel or in a sandbox: `as_on PROFILE PROGRAM [ARGUMENT]...`.
// support/kernels.hpp has the profiles.
#include "support/kernels.hpp"

#include <cstdio>

#include <unistd.h>

int main(int argc, char** argv) {
  constexpr int skipped = 77;
  const sley_test::kernel_profile* profile =
      argc < 3 ? nullptr : sley_test::find_kernel_profile(argv[1]);
  if (profile == nullptr) {
    std::fputs("usage: as_on PROFILE PROGRAM [ARGUMENT]...\n", stderr);
    return 2;
  }
  if (!sley_test::refuse(profile->refusals)) {
    std::puts("skipped: seccomp is refused");
    return skipped;
  }
  ::execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 1;
}
