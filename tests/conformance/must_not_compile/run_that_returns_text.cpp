// expect: the main goroutine returns void or int
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  sley::run([] { return 1; });
#else
  sley::run([] { return "text"; });
#endif
}
