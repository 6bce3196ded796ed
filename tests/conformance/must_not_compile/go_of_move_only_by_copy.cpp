// expect: sley: the callable cannot be copied into the goroutine: pass std::move\(f\)
#include <sley/sley.hpp>

#include <memory>
#include <utility>

void snippet() {
  auto f = [p = std::make_unique<int>(1)] { (void)*p; };
#ifdef CORRECTED
  sley::go(std::move(f));
#else
  sley::go(f);
#endif
}
