// expect: use of deleted function .*a_timer_has_one_owner_use_std_move
// expect: call to deleted constructor of .sley::ticker
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
