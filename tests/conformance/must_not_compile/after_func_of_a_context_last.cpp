// expect: sley::after_func: the context comes first: after_func\(ctx, f\)
#include <sley/sley.hpp>

void snippet() {
  const sley::context ctx;
#ifdef CORRECTED
  sley::after_func(ctx, [] {});
#else
  sley::after_func([] {}, ctx);
#endif
}
