// expect: use of deleted function .*goroutines_share_one_mutex_by_reference
// expect: call to deleted constructor of .sley::mutex
#include <sley/sley.hpp>

void snippet() {
  static sley::mutex m;
#ifdef CORRECTED
  sley::mutex other;
#else
  sley::mutex other = m;
#endif
}
