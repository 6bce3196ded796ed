// expect: use of deleted function
// expect: call to deleted constructor
#include <sley/sley.hpp>

void snippet() {
  static sley::mutex m;
#ifdef CORRECTED
  sley::mutex other;
#else
  sley::mutex other = m;
#endif
}
