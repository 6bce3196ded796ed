// expect: use of deleted function .*goroutines_share_one_wait_group_by_reference
// expect: call to deleted constructor of .*sley::wait_group
#include <sley/sley.hpp>

void snippet() {
  sley::wait_group group;
#ifdef CORRECTED
  group.go([&group] { (void)group.is_done(); });
#else
  group.go([group] { (void)group.is_done(); });
#endif
  group.wait();
}
