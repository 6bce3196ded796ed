// expect: sley: the callable takes a reference, .* which are copied: pass std::ref\(x\)
#include <sley/sley.hpp>

#include <functional>

void work(sley::wait_group& group);

void snippet() {
  static sley::wait_group group;
#ifdef CORRECTED
  sley::go(work, std::ref(group));
#else
  sley::go(work, group);
#endif
}
