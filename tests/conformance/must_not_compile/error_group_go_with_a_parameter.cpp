// expect: the callable cannot be called with these arguments
#include <sley/sley.hpp>

void snippet() {
  sley::error_group group;
#ifdef CORRECTED
  group.go([] {});
#else
  group.go([](int) {});
#endif
}
