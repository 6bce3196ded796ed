// expect: sley::blocking: the function has no arguments: write blocking
#include <sley/sley.hpp>

int work(int n);

void snippet() {
#ifdef CORRECTED
  (void)sley::blocking([] { return work(1); });
#else
  (void)sley::blocking(work, 1);
#endif
}
