// expect: for no cases at all, use block_forever
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  sley::block_forever();
#else
  sley::select();
#endif
}
