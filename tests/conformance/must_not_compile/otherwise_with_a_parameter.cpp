// expect: sley: the function of a case that does not receive takes no arguments
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  sley::select(sley::otherwise([] {}));
#else
  sley::select(sley::otherwise([](int) {}));
#endif
}
