// expect: sley: the function of a case that does not receive takes no arguments
#include <sley/sley.hpp>

#include <chrono>

void snippet() {
#ifdef CORRECTED
  sley::select(sley::on_timeout(std::chrono::seconds(1), [] {}));
#else
  sley::select(sley::on_timeout(std::chrono::seconds(1), [](int) {}));
#endif
}
