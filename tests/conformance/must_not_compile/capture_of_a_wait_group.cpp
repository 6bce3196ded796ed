// expect: use of deleted function .sley::wait_group::wait_group\(const sley::wait_group&\)
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
