// expect: ignoring return(ed)? value
#include <sley/sley.hpp>

void snippet() {
#ifdef CORRECTED
  auto f = sley::async([] { return 1; });
#else
  sley::async([] { return 1; });
#endif
}
