// expect: sley::blocking: the function has no arguments: write blocking
#include <sley/sley.hpp>

int work(int n);

void snippet() {
#ifdef CORRECTED
  sley::blocking([] { work(1); });
#else
  sley::blocking(work);
#endif
}
