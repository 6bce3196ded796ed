// expect: sley: the callable cannot be copied into the goroutine: pass std::move\(f\)
#include <sley/sley.hpp>

#include <memory>
#include <utility>

void snippet() {
  static sley::wait_group group;
  auto f = [p = std::make_unique<int>(1)] { (void)*p; };
#ifdef CORRECTED
  group.go(std::move(f));
#else
  group.go(f);
#endif
}
