// expect: sley::after_func: the function has no arguments
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
#ifdef CORRECTED
  sley::after_func(std::chrono::seconds(5), [] {});
#else
  sley::after_func(std::chrono::seconds(5), [](int) {});
#endif
}
