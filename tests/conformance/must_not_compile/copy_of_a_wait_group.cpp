// expect: use of deleted function
// expect: call to deleted constructor
#include <sley/sley.hpp>

void snippet() {
  static sley::wait_group g;
#ifdef CORRECTED
  sley::wait_group other;
#else
  sley::wait_group other = g;
#endif
}
