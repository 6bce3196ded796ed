// expect: sley::run: the main goroutine.s function has no arguments
#include <sley/sley.hpp>

void work(int n);

void snippet() {
#ifdef CORRECTED
  sley::run([] { work(1); });
#else
  sley::run(work);
#endif
}
