// expect: sley::after_func: the time comes first: after_func\(d, f\)
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
#ifdef CORRECTED
  sley::after_func(std::chrono::seconds(5), [] {});
#else
  sley::after_func([] {}, std::chrono::seconds(5));
#endif
}
