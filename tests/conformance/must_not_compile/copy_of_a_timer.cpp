// expect: use of deleted function
// expect: call to deleted constructor
#include <sley/sley.hpp>

#include <chrono>
#include <utility>

void snippet() {
  sley::timer t(std::chrono::seconds(1));
#ifdef CORRECTED
  sley::timer other = std::move(t);
#else
  sley::timer other = t;
#endif
}
