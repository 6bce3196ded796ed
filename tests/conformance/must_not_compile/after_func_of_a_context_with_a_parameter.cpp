// expect: sley::after_func: the function has no arguments
#include <sley/sley.hpp>

void snippet() {
  const sley::context ctx;
#ifdef CORRECTED
  sley::after_func(ctx, [] {});
#else
  sley::after_func(ctx, [](int) {});
#endif
}
