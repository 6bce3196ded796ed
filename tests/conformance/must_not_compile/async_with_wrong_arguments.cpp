// expect: the callable cannot be called with these arguments
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  auto f = sley::async([](int*) {}, nullptr);
#else
  auto f = sley::async([](int*) {}, 5);
#endif
}
