// expect: use of deleted function .*a_timer_has_one_owner_use_std_move
// expect: call to deleted constructor of .sley::timer
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
