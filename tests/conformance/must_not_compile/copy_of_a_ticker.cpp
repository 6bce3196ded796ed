// expect: use of deleted function
// expect: call to deleted constructor
#include <sley/sley.hpp>

#include <chrono>
#include <utility>

void snippet() {
  sley::ticker t(std::chrono::seconds(1));
#ifdef CORRECTED
  sley::ticker other = std::move(t);
#else
  sley::ticker other = t;
#endif
}
