// expect: the callable cannot be called with these arguments
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  sley::go([](int*) {}, nullptr);
#else
  sley::go([](int*) {}, 5);
#endif
}
