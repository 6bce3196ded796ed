// expect: sley: an argument cannot be copied into the goroutine: pass std::move\(x\)
#include <sley/sley.hpp>

#include <memory>
#include <utility>

void snippet() {
  auto p = std::make_unique<int>(1);
#ifdef CORRECTED
  sley::go([](std::unique_ptr<int>) {}, std::move(p));
#else
  sley::go([](std::unique_ptr<int>) {}, p);
#endif
}
