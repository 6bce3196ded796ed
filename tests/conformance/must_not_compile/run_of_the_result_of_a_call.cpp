// expect: sley::run: the main goroutine.s function has no arguments
#include <sley/sley.hpp>

int work(int n);

void snippet() {
#ifdef CORRECTED
  sley::run([] { return work(1); });
#else
  sley::run(work(1));
#endif
}
