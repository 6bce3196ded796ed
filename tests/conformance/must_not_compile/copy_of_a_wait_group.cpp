// expect: use of deleted function .*goroutines_share_one_wait_group_by_reference
// expect: call to deleted constructor of .*sley::wait_group
#include <sley/sley.hpp>

void snippet() {
  static sley::wait_group g;
#ifdef CORRECTED
  sley::wait_group other;
#else
  sley::wait_group other = g;
#endif
}
